; fedrep.theorem1.gaussian.all_heads
; the matrix of all zeta_i is at most 7 sqrt(rn) dist/20
(set-logic QF_NRA)
(declare-const x Real)
(declare-const y Real)
(assert (>= x 0.0))
(assert (>= y 0.0))
(assert (<= (* 64.0 (* x x)) 1.0))
(assert (<= (* 900.0 (* y y)) 1.0))
(assert (not (<= (* 600.0 (* (+ (* 2.0 x) y) (+ (* 2.0 x) y))) 49.0)))
(check-sat)
