; flute.lemmaA11.second_case.corrected.without_noise
; (1 - x/8)^2 + 2 eta^2 <= 1 - x/8
(set-logic QF_NRA)
(declare-const eta Real)
(declare-const gap Real)
(assert (> eta 0.0))
(assert (> gap 0.0))
(assert (<= gap 1.0))
(assert (<= (* 36.0 eta) (* gap gap)))
(assert (not (<= (+ (* (- 1.0 (/ (* eta gap) 8.0)) (- 1.0 (/ (* eta gap) 8.0))) (* 2.0 (* eta eta))) (- 1.0 (/ (* eta gap) 8.0)))))
(check-sat)
