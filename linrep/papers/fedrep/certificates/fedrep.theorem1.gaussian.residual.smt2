; fedrep.theorem1.gaussian.residual
; residual: Bound Z_i, zeta_i and g_i of a client.
(set-logic QF_NRA)
(declare-const M Real)
(declare-const each_root Real)
(declare-const near Real)
(assert (> M 0.0))
(assert (> each_root 0.0))
(assert (= (* each_root each_root) 64.0))
(assert (>= near 0.0))
(assert (<= near (/ M each_root)))
(assert (not (<= (* 64.0 (* (+ M near) (+ M near))) (* 81.0 (* M M)))))
(check-sat)
