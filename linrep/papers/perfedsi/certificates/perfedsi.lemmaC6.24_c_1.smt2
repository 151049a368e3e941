; perfedsi.lemmaC6.(24), c >= 1
; (24), c >= 1: With the 4 c^4 on dU that is printed, for the c of the event.
(set-logic QF_NRA)
(declare-const a Real)
(assert (>= a 1.0))
(assert (not (<= (+ (/ 1.0 4.0) (/ (* (+ (* 2.0 a) 1.0) (+ (* 2.0 a) 1.0)) (+ (* 12.0 (* a a)) 2.0))) 1.0)))
(check-sat)
