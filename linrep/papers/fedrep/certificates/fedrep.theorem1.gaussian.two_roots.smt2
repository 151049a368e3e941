; fedrep.theorem1.gaussian.two roots
; two roots: Bound sums of roots, sqrt(k) + sqrt(2L) <= sqrt(m/32) first.
(set-logic QF_NRA)
(declare-const a Real)
(declare-const b Real)
(assert (>= a 0.0))
(assert (>= b 0.0))
(assert (not (<= (* (+ (* 2.0 a) b) (+ (* 2.0 a) b)) (* 5.0 (+ (* a a) (* b b))))))
(check-sat)
