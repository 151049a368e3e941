; perfedsi.eq52.corrected.(52)
; (52): 3 x and x^2 over the first order, at d = 1, where x = eta sqrt(k r) mu^(3/2) sqrt(L).
(set-logic QF_NRA)
(declare-const x Real)
(assert (>= x 0.0))
(assert (<= x (/ 3.0 4.0)))
(assert (not (<= (+ (* 3.0 x) (* x x)) 3.0)))
(check-sat)
