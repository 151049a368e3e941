; perfedsi.lemmaC6.(22)'s constant, any c
; (22)'s constant, any c: With the 8 c^4 of (24)'s line before the last.
(set-logic QF_NRA)
(declare-const a Real)
(assert (> a 0.0))
(assert (not (<= (* (+ (* 3.0 a) 1.0) (+ (* 3.0 a) 1.0)) (+ (* 20.0 (* a a)) 2.0))))
(check-sat)
