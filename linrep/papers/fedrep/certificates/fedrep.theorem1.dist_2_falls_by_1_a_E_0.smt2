; fedrep.theorem1.dist^2 falls by 1 - a E_0
; dist^2 falls by 1 - a E_0: Take a round on infinitely many samples with k = 1; a is eta sigma^2, first is 1 - E_0.
(set-logic QF_NRA)
(declare-const a Real)
(declare-const first Real)
(declare-const x Real)
(assert (> a 0.0))
(assert (<= a (/ 1.0 4.0)))
(assert (> first 0.0))
(assert (< first 1.0))
(assert (> x 0.0))
(assert (<= x first))
(assert (not (<= (/ (* (* (- 1.0 (* a (- 1.0 x))) (- 1.0 (* a (- 1.0 x)))) x) (+ (* (* (- 1.0 (* a (- 1.0 x))) (- 1.0 (* a (- 1.0 x)))) x) (* (- 1.0 x) (* (+ 1.0 (* a x)) (+ 1.0 (* a x)))))) (* (- 1.0 (* a (- 1.0 first))) x))))
(check-sat)
