; perfedsi.eq52.corrected.remainder
; 3 x + x^2 <= 3 for 0 <= x <= 3/4
(set-logic QF_NRA)
(declare-const x Real)
(assert (>= x 0.0))
(assert (<= x (/ 3.0 4.0)))
(assert (not (<= (+ (* 3.0 x) (* x x)) 3.0)))
(check-sat)
