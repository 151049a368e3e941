; fedrep.lemma5.events.q + q^10 <= 1
; q + q^10 <= 1: Sum the two events of one client, over q^111.
(set-logic QF_NRA)
(declare-const q Real)
(assert (>= q 0.0))
(assert (<= q (/ 1.0 2.0)))
(assert (not (<= (+ q (* q q q q q q q q q q)) 1.0)))
(check-sat)
