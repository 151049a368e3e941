; fedrep.theorem1.gaussian.two_roots
; (2a + b)^2 <= 5 (a^2 + b^2)
(set-logic QF_NRA)
(declare-const a Real)
(declare-const b Real)
(assert (>= a 0.0))
(assert (>= b 0.0))
(assert (not (<= (* (+ (* 2.0 a) b) (+ (* 2.0 a) b)) (* 5.0 (+ (* a a) (* b b))))))
(check-sat)
