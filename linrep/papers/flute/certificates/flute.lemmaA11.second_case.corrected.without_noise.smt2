; flute.lemmaA11.second_case.corrected.without noise
; without noise: D after the second case over (1 - eta Delta/16)^(t + 1), in lambda*_1^2/(eta Delta^2).
(set-logic QF_NRA)
(declare-const gap Real)
(declare-const eta Real)
(assert (> gap 0.0))
(assert (<= gap 1.0))
(assert (> eta 0.0))
(assert (<= eta (/ (* gap gap) 36.0)))
(assert (not (<= (+ (* (- 1.0 (/ (* eta gap) 8.0)) (- 1.0 (/ (* eta gap) 8.0))) (* 2.0 (* eta eta))) (- 1.0 (/ (* eta gap) 8.0)))))
(check-sat)
