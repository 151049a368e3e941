; pflmf.theorem1.sharp.step 5, from K = 2
; step 5, from K = 2: What is enough for the noise.
(set-logic QF_NRA)
(declare-const p Real)
(declare-const root2 Real)
(declare-const b Real)
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (> root2 0.0))
(assert (= (* root2 root2) 2.0))
(assert (>= b 0.0))
(assert (<= b (/ 1.0 root2)))
(assert (not (<= (+ (+ 1.0 (* (/ 3.0 2.0) (* p p p))) (* (* (* (* (/ 4.0 3.0) (* p p p)) (- 1.0 p)) b) (+ 1.0 b))) (/ 5.0 2.0))))
(check-sat)
