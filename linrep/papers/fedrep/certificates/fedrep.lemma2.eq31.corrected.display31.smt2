; fedrep.lemma2.eq31.corrected.display31
; (12 u - 1)^2 >= 121 u^2 for u = k sqrt(log(rn)) >= 1
(set-logic QF_NRA)
(declare-const u Real)
(assert (>= u 1.0))
(assert (not (>= (* (- (* 12.0 u) 1.0) (- (* 12.0 u) 1.0)) (* 121.0 (* u u)))))
(check-sat)
