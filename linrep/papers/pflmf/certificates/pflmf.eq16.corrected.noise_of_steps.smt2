; pflmf.eq16.corrected.noise_of_steps
; noise of the local steps: a factor of at most 2/3 (1 - 1/K)
(set-logic QF_NRA)
(declare-const K Real)
(assert (>= K 1.0))
(assert (not (>= (* (/ 2.0 3.0) (- 1.0 (/ 1.0 K))) (/ (* (- K 1.0) (- (* 2.0 K) 1.0)) (* 3.0 (* K K))))))
(check-sat)
