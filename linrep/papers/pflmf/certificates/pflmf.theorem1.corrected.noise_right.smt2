; pflmf.theorem1.corrected.noise_right
; from the other sum: the second noise
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const root2 Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (> root2 0.0))
(assert (= (* root2 root2) 2.0))
(assert (not (<= (* (- 1.0 x) (+ (/ (* p x) 2.0) (/ 1.0 root2))) (/ 3.0 2.0))))
(check-sat)
