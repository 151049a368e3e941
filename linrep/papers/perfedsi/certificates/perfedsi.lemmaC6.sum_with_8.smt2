; perfedsi.lemmaC6.sum_with_8
; with 8 a^2 no condition on c: (3a + 1)^2 <= 20 a^2 + 2
(set-logic QF_NRA)
(declare-const a Real)
(assert (>= a 0.0))
(assert (not (<= (* (+ (* 3.0 a) 1.0) (+ (* 3.0 a) 1.0)) (+ (* 20.0 (* a a)) 2.0))))
(check-sat)
