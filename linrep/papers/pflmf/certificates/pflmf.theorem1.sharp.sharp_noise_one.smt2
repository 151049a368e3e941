; pflmf.theorem1.sharp.sharp_noise_one
; step 5: at K = 1, 3/2 is enough for the noise
(set-logic QF_NRA)
(declare-const p Real)
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (not (<= (/ (+ 1.0 (* 2.0 (* p p p))) 2.0) (/ 3.0 2.0))))
(check-sat)
