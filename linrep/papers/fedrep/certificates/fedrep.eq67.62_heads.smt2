; fedrep.eq67.(62), heads
; (62), heads: Make heads at most twice as large.
(set-logic QF_NRA)
(declare-const delta Real)
(assert (>= delta 0.0))
(assert (<= delta (/ 1.0 2.0)))
(assert (not (<= (* (+ 1.0 (/ delta (- 1.0 delta))) (+ 1.0 (/ delta (- 1.0 delta)))) 4.0)))
(check-sat)
