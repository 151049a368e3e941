; fedrep.theorem2.samples.samples
; k/s^2 <= k kappa^2, as s kappa is at least 1
(set-logic QF_NRA)
(declare-const k Real)
(declare-const s Real)
(declare-const kappa Real)
(assert (>= k 1.0))
(assert (> s 0.0))
(assert (>= kappa 1.0))
(assert (>= (* s kappa) 1.0))
(assert (not (<= (/ k (* s s)) (* k (* kappa kappa)))))
(check-sat)
