; fedrep.lemma5.events.events
; q + q^10 <= 1 for 0 <= q <= 1/2
(set-logic QF_NRA)
(declare-const q Real)
(assert (>= q 0.0))
(assert (<= (* 2.0 q) 1.0))
(assert (not (<= (+ q (* q q q q q q q q q q)) 1.0)))
(check-sat)
