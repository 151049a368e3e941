; fedrep.eq67.display62
; (62): delta/(1 - delta) <= 1 makes the heads at most twice as large
(set-logic QF_NRA)
(declare-const delta Real)
(assert (>= delta 0.0))
(assert (<= (* 2.0 delta) 1.0))
(assert (not (<= (* (+ 1.0 (/ delta (- 1.0 delta))) (+ 1.0 (/ delta (- 1.0 delta)))) 4.0)))
(check-sat)
