; pflmf.corollary2.constants.exact_constants
; exact_constants: With U fixed, K = 1, no noise, T to infinity the left side is at most the right one.
(set-logic QF_NRA)
(declare-const u Real)
(assert (> u 0.0))
(assert (<= u 1.0))
(assert (not (<= (* 1.0 (/ 4.0 (* 2.0 (- 8.0 u)))) 1.0)))
(check-sat)
