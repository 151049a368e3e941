; pflmf.lemma4.one coordinate
; one coordinate: Of one coordinate, which Lemma 4 is a sum over.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const y Real)
(declare-const alpha Real)
(assert (> alpha 0.0))
(assert (not (<= (* x y) (* 1.0 (+ (* (/ alpha 2.0) (* x x)) (/ (* y y) (* 2.0 alpha)))))))
(check-sat)
