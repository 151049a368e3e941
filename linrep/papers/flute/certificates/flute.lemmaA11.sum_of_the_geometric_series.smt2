; flute.lemmaA11.sum of the geometric series
; sum of the geometric series: (32), where R_k is at most sigma_D eta Delta/96, and (33).
(set-logic QF_NRA)
(declare-const gap Real)
(declare-const eta Real)
(assert (> gap 0.0))
(assert (<= gap 1.0))
(assert (> eta 0.0))
(assert (<= eta (/ (* 1.0 (* gap gap)) 36.0)))
(assert (not (<= (/ 128.0 (- 1.0 (/ (* eta gap) 16.0))) 130.0)))
(check-sat)
