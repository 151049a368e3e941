; fedrep.theorem1.gaussian.size
; (sigma_max + 7/20)^2 <= (27 sigma_max/20)^2
(set-logic QF_NRA)
(declare-const p Real)
(assert (>= p 1.0))
(assert (not (<= (* (+ (* 20.0 p) 7.0) (+ (* 20.0 p) 7.0)) (* (* 27.0 p) (* 27.0 p)))))
(check-sat)
