; fedrep.theorem1.gaussian.near
; near: Bound sums of roots, sqrt(k) + sqrt(2L) <= sqrt(m/32) first.
(set-logic QF_NRA)
(declare-const a Real)
(declare-const b Real)
(declare-const square Real)
(assert (>= a 0.0))
(assert (>= b 0.0))
(assert (<= (* 64.0 (+ (* a a) (* b b))) square))
(assert (not (<= (* 32.0 (* (+ a b) (+ a b))) square)))
(check-sat)
