; pflmf.theorem1.corrected.weight of V
; weight of V: Follow from the round summed anew times (1 - 2 x)/(1 - x), x = eta L, or from (16).
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= x (/ 1.0 2.0)))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (* (- 1.0 x) (+ 2.0 x)) (* 2.0 (- (- 1.0 (/ (* p x) (* 2.0 K))) (/ (* (* p x) x) 2.0))))))
(check-sat)
