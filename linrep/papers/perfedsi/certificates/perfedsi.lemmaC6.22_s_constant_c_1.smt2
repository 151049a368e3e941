; perfedsi.lemmaC6.(22)'s constant, c >= 1
; (22)'s constant, c >= 1: With the 4 c^4 on dU that is printed, for the c of the event.
(set-logic QF_NRA)
(declare-const a Real)
(assert (>= a 1.0))
(assert (not (<= (* (+ (* 3.0 a) 1.0) (+ (* 3.0 a) 1.0)) (+ (* 16.0 (* a a)) 2.0))))
(check-sat)
