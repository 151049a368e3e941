; flute.eq28.corrected.(29)
; (29): The quotient of both factors is largest at 1/2, and what is beyond it.
(set-logic QF_NRA)
(declare-const x Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (not (<= (- 1.0 (/ x 7.0)) (* (- 1.0 (* (/ 1.0 16.0) x)) (- 1.0 (* (/ 1.0 16.0) x))))))
(check-sat)
