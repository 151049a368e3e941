; fedrep.theorem1.population_round
; a population round with k = 1: dist^2 falls by 1 - a E_0
(set-logic QF_NRA)
(declare-const a Real)
(declare-const x Real)
(declare-const first Real)
(assert (> a 0.0))
(assert (<= (* 4.0 a) 1.0))
(assert (> x 0.0))
(assert (<= x first))
(assert (< first 1.0))
(assert (not (<= (/ (* (* (- 1.0 (* a (- 1.0 x))) (- 1.0 (* a (- 1.0 x)))) x) (+ (* (* (- 1.0 (* a (- 1.0 x))) (- 1.0 (* a (- 1.0 x)))) x) (* (- 1.0 x) (* (+ 1.0 (* a x)) (+ 1.0 (* a x)))))) (* (- 1.0 (* a (- 1.0 first))) x))))
(check-sat)
