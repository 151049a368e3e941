; pflmf.theorem1.corrected.weight_V
; from the other sum: (1 - x)(2 + x) <= 2 - q - q x
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (not (<= (* (- 1.0 x) (+ 2.0 x)) (- (- 2.0 (* p x)) (* p (* x x))))))
(check-sat)
