; pflmf.eq16.auxiliary.second_member
; the second member is not positive
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= (* 2.0 x) 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (/ (* (/ x 2.0) (+ (* (+ 1.0 p) K) 1.0)) K) 1.0)))
(check-sat)
