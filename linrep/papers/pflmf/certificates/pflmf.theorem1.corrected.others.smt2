; pflmf.theorem1.corrected.others
; others: Follow from the round summed anew times (1 - 2 x)/(1 - x), x = eta L, or from (16).
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const root2 Real)
(assert (> x 0.0))
(assert (<= x (/ 1.0 2.0)))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (> root2 0.0))
(assert (= (* root2 root2) 2.0))
(assert (not (<= (* (- 1.0 x) (+ (/ (* p x) 2.0) (/ 1.0 root2))) (/ 3.0 2.0))))
(check-sat)
