; flute.lemmaA10.second_case.factor
; a step multiplies the quotient by at most (1 - x/16)^2
(set-logic QF_NRA)
(declare-const x Real)
(declare-const a Real)
(assert (> x 0.0))
(assert (<= (* 36.0 x) 1.0))
(assert (>= a (- (/ 1.0 2.0))))
(assert (<= a (/ 1.0 2.0)))
(assert (not (<= (/ (+ (- 1.0 (/ x 8.0)) a) (+ (+ 1.0 (/ x 8.0)) a)) (* (- 1.0 (* (/ 1.0 16.0) x)) (- 1.0 (* (/ 1.0 16.0) x))))))
(check-sat)
