; perfedsi.lemmaC11.corrected.a_round
; a round: (f) less (d) and (e) is at least 1/2 X/c_z^3
(set-logic QF_NRA)
(declare-const c_z Real)
(declare-const g Real)
(assert (>= c_z 1.0))
(assert (>= g 0.0))
(assert (<= (* 132.0 g) 1.0))
(assert (not (>= (- (/ (/ 9.0 8.0) c_z) (/ (* 25.0 g) (* c_z c_z c_z))) (/ (/ 1.0 2.0) (* c_z c_z c_z)))))
(check-sat)
