; perfedsi.lemmaC6.least_constant.a step from c to (1 - h) c
; a step from c to (1 - h) c: At least (1 - h)^4 of the squared bound.
(set-logic QF_NRA)
(declare-const a Real)
(declare-const h Real)
(assert (> a 0.0))
(assert (>= h 0.0))
(assert (<= h 1.0))
(assert (not (<= (* (* (- 1.0 h) (- 1.0 h)) (+ (* 3.0 a) 1.0)) (+ (* (* 3.0 a) (* (- 1.0 h) (- 1.0 h))) 1.0))))
(check-sat)
