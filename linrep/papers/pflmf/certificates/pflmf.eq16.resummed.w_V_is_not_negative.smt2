; pflmf.eq16.resummed.w_V is not negative
; w_V is not negative: Over p^2/C it is the factor of the participants' gradients in steps 1 and 2 together.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (>= (- (- 1.0 (/ (* p x) (* 2.0 K))) (/ (* p (* x x)) 2.0)) 0.0)))
(check-sat)
