; flute.lemmaA10.after24
; after (24): 4 eta^2 <= eta Delta/4
(set-logic QF_NRA)
(declare-const eta Real)
(declare-const gap Real)
(assert (> eta 0.0))
(assert (> gap 0.0))
(assert (<= gap 1.0))
(assert (<= (* 36.0 eta) (* gap gap)))
(assert (not (<= (* 4.0 (* eta eta)) (/ (* eta gap) 4.0))))
(check-sat)
