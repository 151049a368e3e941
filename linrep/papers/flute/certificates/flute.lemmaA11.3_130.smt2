; flute.lemmaA11.3 + 130
; 3 + 130: (32), where R_k is at most sigma_D eta Delta/96, and (33).
(set-logic QF_NRA)
(declare-const gap Real)
(declare-const eta Real)
(assert (> gap 0.0))
(assert (<= gap 1.0))
(assert (> eta 0.0))
(assert (<= eta (/ (* 1.0 (* gap gap)) 36.0)))
(assert (not (<= (+ 133.0 (* 0.0 (* eta gap))) 200.0)))
(check-sat)
