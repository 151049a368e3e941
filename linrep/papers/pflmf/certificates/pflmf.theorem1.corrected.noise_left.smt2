; pflmf.theorem1.corrected.noise_left
; from the other sum: what the first noise leaves
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (not (>= (- 1.0 (/ (* (- 1.0 x) (+ 1.0 (* (* p p p) (+ 1.0 x)))) 2.0)) (* (* (/ 3.0 2.0) (- 1.0 p)) (* p p p)))))
(check-sat)
