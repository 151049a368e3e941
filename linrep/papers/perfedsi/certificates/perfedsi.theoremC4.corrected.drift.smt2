; perfedsi.theoremC4.corrected.drift
; 9/8 less the drift is at least 1/2
(set-logic QF_NRA)
(declare-const g Real)
(assert (>= g 0.0))
(assert (<= (* 132.0 g) 1.0))
(assert (not (>= (- (/ 9.0 8.0) (* 25.0 g)) (/ 1.0 2.0))))
(check-sat)
