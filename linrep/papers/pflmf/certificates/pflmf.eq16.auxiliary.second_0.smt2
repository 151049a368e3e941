; pflmf.eq16.auxiliary.second <= 0
; second <= 0: The cost of the heads' displacement in case K is compensated by the gradients of step (C).
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= x (/ 1.0 2.0)))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (- (/ (* (/ x 2.0) (+ (* (+ 1.0 p) K) 1.0)) K) 1.0) 0.0)))
(check-sat)
