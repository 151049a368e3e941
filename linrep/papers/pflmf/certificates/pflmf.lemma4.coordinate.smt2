; pflmf.lemma4.coordinate
; one coordinate: theta y <= alpha theta^2/2 + y^2/(2 alpha)
(set-logic QF_NRA)
(declare-const theta Real)
(declare-const y Real)
(declare-const alpha Real)
(assert (> alpha 0.0))
(assert (not (<= (* theta y) (* 1.0 (+ (/ (* alpha (* theta theta)) 2.0) (/ (* y y) (* 2.0 alpha)))))))
(check-sat)
