; fedrep.eq85.corrected.delta < 1/5
; delta < 1/5: Lead from the hypothesis on deltabar to the contraction.
(set-logic QF_NRA)
(declare-const e Real)
(declare-const delta Real)
(assert (> e 0.0))
(assert (<= e 1.0))
(assert (>= delta 0.0))
(assert (<= delta (/ (* 16.0 e) 150.0)))
(assert (not (<= delta (/ 1.0 5.0))))
(check-sat)
