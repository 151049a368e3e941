; perfedsi.lemmaC6.display24_with_8
; with 8 a^2 no condition on c: 1/8 + (2a + 1)^2/(12 a^2 + 2) <= 1
(set-logic QF_NRA)
(declare-const a Real)
(assert (>= a 0.0))
(assert (not (<= (+ (/ 1.0 8.0) (/ (* (+ (* 2.0 a) 1.0) (+ (* 2.0 a) 1.0)) (+ (* 12.0 (* a a)) 2.0))) 1.0)))
(check-sat)
