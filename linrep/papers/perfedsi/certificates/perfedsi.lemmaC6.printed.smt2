; perfedsi.lemmaC6.printed
; (3a + 1)^2 <= 16 a^2 + 2 for a = c^2 >= 1
(set-logic QF_NRA)
(declare-const a Real)
(assert (>= a 1.0))
(assert (not (<= (* (+ (* 3.0 a) 1.0) (+ (* 3.0 a) 1.0)) (+ (* 16.0 (* a a)) 2.0))))
(check-sat)
