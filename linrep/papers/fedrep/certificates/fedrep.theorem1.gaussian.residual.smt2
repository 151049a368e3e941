; fedrep.theorem1.gaussian.residual
; |g_i|^2 <= 81 m/64
(set-logic QF_NRA)
(declare-const b Real)
(declare-const M Real)
(assert (>= b 0.0))
(assert (> M 0.0))
(assert (<= (* 64.0 (* b b)) (* M M)))
(assert (not (<= (* 64.0 (* (+ M b) (+ M b))) (* 81.0 (* M M)))))
(check-sat)
