; fedrep.eq85.corrected.errors
; deltabar <= 16 e/150: deltabar/(1 - deltabar)^2 <= e/6
(set-logic QF_NRA)
(declare-const e Real)
(declare-const delta Real)
(assert (> e 0.0))
(assert (<= e 1.0))
(assert (>= delta 0.0))
(assert (<= (* 150.0 delta) (* 16.0 e)))
(assert (not (<= (/ delta (* (- 1.0 delta) (- 1.0 delta))) (/ e 6.0))))
(check-sat)
