; fedrep.lemma6.probability.terms
; 3 q^10 <= 1 for 0 <= q <= 1/2
(set-logic QF_NRA)
(declare-const q Real)
(assert (>= q 0.0))
(assert (<= (* 2.0 q) 1.0))
(assert (not (<= (* 3.0 (* q q q q q q q q q q)) 1.0)))
(check-sat)
