; pflmf.theorem1.sharp.step 5, K = 1
; step 5, K = 1: What is enough for the noise.
(set-logic QF_NRA)
(declare-const p Real)
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (not (<= (/ (+ 1.0 (* 2.0 (* p p p))) 2.0) (/ 3.0 2.0))))
(check-sat)
