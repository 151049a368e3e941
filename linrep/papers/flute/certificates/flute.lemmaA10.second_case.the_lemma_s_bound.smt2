; flute.lemmaA10.second_case.the lemma's bound
; the lemma's bound: A step multiplies the ratio by at most (1 - x/16)^2, t + 1 - t' of them the reference.
(set-logic QF_NRA)
(declare-const reference Real)
(declare-const kept Real)
(assert (> reference 0.0))
(assert (<= reference 1.0))
(assert (>= kept 0.0))
(assert (<= kept 1.0))
(assert (not (<= (* reference (* kept kept)) reference)))
(check-sat)
