; flute.eq28.corrected.largest at 1/2
; largest at 1/2: The quotient of both factors is largest at 1/2, and what is beyond it.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const a Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (>= a (- (/ 1.0 2.0))))
(assert (<= a (/ 1.0 2.0)))
(assert (not (<= (/ (+ (- 1.0 (/ x 8.0)) a) (+ (+ 1.0 (/ x 8.0)) a)) (/ (- 12.0 x) (+ 12.0 x)))))
(check-sat)
