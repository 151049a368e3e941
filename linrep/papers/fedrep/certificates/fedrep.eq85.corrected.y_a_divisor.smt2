; fedrep.eq85.corrected.y <= a/divisor
; y <= a/divisor: Lead from the hypothesis on deltabar to the contraction.
(set-logic QF_NRA)
(declare-const e Real)
(declare-const delta Real)
(assert (> e 0.0))
(assert (<= e 1.0))
(assert (>= delta 0.0))
(assert (<= delta (/ (* 16.0 e) 150.0)))
(assert (not (<= (/ delta (* (- 1.0 delta) (- 1.0 delta))) (/ e 6.0))))
(check-sat)
