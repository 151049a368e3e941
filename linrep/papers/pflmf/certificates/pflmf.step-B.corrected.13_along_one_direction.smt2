; pflmf.step-B.corrected.(13) along one direction
; (13) along one direction: Gradients g at V and x at V_k along one direction, z = ||V_k - V||, L_U = 1, no noise.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const z Real)
(declare-const g Real)
(declare-const eta Real)
(assert (>= z 0.0))
(assert (<= (- x z) g))
(assert (<= g (+ x z)))
(assert (> eta 0.0))
(assert (<= eta (/ 1.0 2.0)))
(assert (not (<= (+ (* (* (- eta) x) g) (* (/ (* eta eta) 2.0) (* g g))) (+ (- (/ (* 1.0 (* z z)) 2.0) (* (* (* 1.0 eta) (- 1.0 (/ eta 2.0))) (* x x))) (* (* (/ 1.0 2.0) (* eta eta)) (* g g))))))
(check-sat)
