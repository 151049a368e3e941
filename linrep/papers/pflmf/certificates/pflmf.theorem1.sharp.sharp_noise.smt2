; pflmf.theorem1.sharp.sharp_noise
; step 5: from K = 2 on, 5/4 is enough for the noise
(set-logic QF_NRA)
(declare-const p Real)
(declare-const b Real)
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= b 0.0))
(assert (<= (* 2.0 (* b b)) 1.0))
(assert (not (<= (+ (+ 1.0 (* (/ 3.0 2.0) (* p p p))) (* (* (* (* (/ 4.0 3.0) (* p p p)) (- 1.0 p)) b) (+ 1.0 b))) (/ 5.0 2.0))))
(check-sat)
