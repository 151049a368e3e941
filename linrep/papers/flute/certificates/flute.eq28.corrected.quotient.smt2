; flute.eq28.corrected.quotient
; the quotient of the two factors is at most 1 - x/7
(set-logic QF_NRA)
(declare-const x Real)
(declare-const a Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (>= a (- (/ 1.0 2.0))))
(assert (<= a (/ 1.0 2.0)))
(assert (not (<= (/ (+ (- 1.0 (/ x 8.0)) a) (+ (+ 1.0 (/ x 8.0)) a)) (- 1.0 (/ x 7.0)))))
(check-sat)
