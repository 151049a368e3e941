; pflmf.corollary2.exact_rate
; U fixed, K = 1, no noise: 1/T bounds a lower bound of the left side
(set-logic QF_NRA)
(declare-const s Real)
(declare-const p Real)
(assert (>= s 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (not (<= (* (* 2.0 (* p p)) s) (* 16.0 (+ 1.0 (* (/ (* (* p p) (- 8.0 p)) 16.0) s))))))
(check-sat)
