; fedrep.lemma6.probability.3 q^10 <= 1
; 3 q^10 <= 1: Sum three terms of at most q^110 each, over q^100.
(set-logic QF_NRA)
(declare-const q Real)
(assert (>= q 0.0))
(assert (<= q (/ 1.0 2.0)))
(assert (not (<= (* 3.0 (* q q q q q q q q q q)) 1.0)))
(check-sat)
