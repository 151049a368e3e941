; pflmf.corollary2.exact_rate
; exact_rate: With U fixed, K = 1, no noise 1/T bounds a lower bound of the left side. T = s^b for a power of a/b. The gradient's square falls by the share d in a round, and (1 - d)^T <= 1/(1 + T d), so that the left side is at least 2 L(F^0 - F*)/(1 + T d).
(set-logic QF_NRA)
(declare-const s Real)
(declare-const p Real)
(assert (>= s 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (not (<= (* (* 2.0 (* p p)) s) (* 16.0 (+ 1.0 (* (/ (* (* p p) (- 8.0 p)) 16.0) s))))))
(check-sat)
