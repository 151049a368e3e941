; pflmf.theorem1.sharp.step 3, factor of Y
; step 3, factor of Y: It is not negative.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (>= (- 1.0 (/ (* (* p x) (+ K 1.0)) (* 2.0 K))) 0.0)))
(check-sat)
