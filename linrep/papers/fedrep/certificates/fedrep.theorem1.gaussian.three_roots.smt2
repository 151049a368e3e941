; fedrep.theorem1.gaussian.three roots
; three roots: Bound sums of roots, sqrt(k) + sqrt(2L) <= sqrt(m/32) first.
(set-logic QF_NRA)
(declare-const a Real)
(declare-const b Real)
(declare-const c Real)
(assert (>= a 0.0))
(assert (>= b 0.0))
(assert (>= c 0.0))
(assert (not (<= (* (+ (+ a b) c) (+ (+ a b) c)) (* 3.0 (+ (+ (* a a) (* b b)) (* c c))))))
(check-sat)
