; pflmf.corollary2.sharp.the best step
; the best step: G/(x (1 - x)) + N x/(1 - x) is at least 2 G (1 + s), s^2 = 1 + N/G.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const s Real)
(assert (> x 0.0))
(assert (< x 1.0))
(assert (>= s 1.0))
(assert (not (<= (* (* (* 2.0 (+ 1.0 s)) x) (- 1.0 x)) (+ 1.0 (* (- (* s s) 1.0) (* x x))))))
(check-sat)
