; perfedsi.lemmaC10.corrected.the sum over steps
; the sum over steps: By Lemma C.9 for all steps; s steps drift s/tau times as far, which sums up to half.
(set-logic QF_NRA)
(declare-const root Real)
(assert (> root 0.0))
(assert (= (* root root) 2.0))
(assert (not (<= (/ (* 6.0 root) 2.0) 10.0)))
(check-sat)
