; fedrep.theorem2.samples.k/s^2 <= k kappa^2
; k/s^2 <= k kappa^2: Use that s kappa is at least 1.
(set-logic QF_NRA)
(declare-const k Real)
(declare-const kappa Real)
(declare-const s Real)
(assert (>= k 1.0))
(assert (>= kappa 1.0))
(assert (<= (/ 1.0 kappa) s))
(assert (not (<= (/ k (* s s)) (* k (* kappa kappa)))))
(check-sat)
