; perfedsi.lemmaC6.least_constant.shorter_step
; a shorter step has (1 - h)^2 of it
(set-logic QF_NRA)
(declare-const a Real)
(declare-const h Real)
(assert (> a 0.0))
(assert (>= h 0.0))
(assert (<= h 1.0))
(assert (not (>= (+ (* (* 3.0 a) (* (- 1.0 h) (- 1.0 h))) 1.0) (* (* (- 1.0 h) (- 1.0 h)) (+ (* 3.0 a) 1.0)))))
(check-sat)
