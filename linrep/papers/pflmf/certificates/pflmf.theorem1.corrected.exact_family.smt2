; pflmf.theorem1.corrected.exact_family
; exact_family: With U fixed, K = 1, T to infinity the left side over the right one is at most 1.
(set-logic QF_NRA)
(declare-const u Real)
(declare-const x Real)
(assert (> u 0.0))
(assert (<= u 1.0))
(assert (> x 0.0))
(assert (< x (/ 1.0 2.0)))
(assert (not (<= (* 1.0 (/ (- 1.0 (* 2.0 x)) (- 2.0 (* u x)))) 1.0)))
(check-sat)
