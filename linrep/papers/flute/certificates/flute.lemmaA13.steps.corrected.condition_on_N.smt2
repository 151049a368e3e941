; flute.lemmaA13.steps.corrected.condition on N
; condition on N: Conditions and nets: `d` is max(d, M) in all but the dimensions of a net. `side` is what stands beside log(1/delta)/d in the condition on N. In Lemma A.14 s^2 is scale lambda*_1 (k lambda*_1^2 + E) (log(1/delta) + 6 d)/(N c), and it is divided by what the sum of (c_i c_B)^2 is at most: 4 times the first of these for scale 1, else 18 times.
(set-logic QF_NRA)
(declare-const ell Real)
(declare-const k Real)
(declare-const d Real)
(assert (>= ell 0.0))
(assert (>= k 1.0))
(assert (<= k d))
(assert (not (<= (+ ell (* 6.0 d)) (+ ell (* 6.0 d)))))
(check-sat)
