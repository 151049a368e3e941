; fedrep.theorem1.gaussian.size
; size: Bound sums of roots, sqrt(k) + sqrt(2L) <= sqrt(m/32) first.
(set-logic QF_NRA)
(declare-const p Real)
(assert (>= p 1.0))
(assert (not (<= (* (+ (* 20.0 p) 7.0) (+ (* 20.0 p) 7.0)) (* (* 27.0 p) (* 27.0 p)))))
(check-sat)
