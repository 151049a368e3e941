; perfedsi.lemmaC6.(24), any c
; (24), any c: With the 8 c^4 of (24)'s line before the last.
(set-logic QF_NRA)
(declare-const a Real)
(assert (> a 0.0))
(assert (not (<= (+ (/ 1.0 8.0) (/ (* (+ (* 2.0 a) 1.0) (+ (* 2.0 a) 1.0)) (+ (* 12.0 (* a a)) 2.0))) 1.0)))
(check-sat)
