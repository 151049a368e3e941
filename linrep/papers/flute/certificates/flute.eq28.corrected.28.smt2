; flute.eq28.corrected.(28)
; (28): The quotient of both factors is largest at 1/2, and what is beyond it.
(set-logic QF_NRA)
(declare-const x Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (not (<= (/ (- 12.0 x) (+ 12.0 x)) (- 1.0 (/ x 7.0)))))
(check-sat)
