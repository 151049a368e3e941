; perfedsi.lemmaC6.display24
; (24): 1/4 + (2a + 1)^2/(12 a^2 + 2) <= 1 for a >= 1
(set-logic QF_NRA)
(declare-const a Real)
(assert (>= a 1.0))
(assert (not (<= (+ (/ 1.0 4.0) (/ (* (+ (* 2.0 a) 1.0) (+ (* 2.0 a) 1.0)) (+ (* 12.0 (* a a)) 2.0))) 1.0)))
(check-sat)
