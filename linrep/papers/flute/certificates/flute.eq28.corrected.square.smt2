; flute.eq28.corrected.square
; 1 - x/7 is at most (1 - x/16)^2
(set-logic QF_NRA)
(declare-const x Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (not (<= (- 1.0 (/ x 7.0)) (* (- 1.0 (/ x 16.0)) (- 1.0 (/ x 16.0))))))
(check-sat)
