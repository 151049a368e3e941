; pflmf.theorem1.corrected.C
; C: Follow from the round summed anew times (1 - 2 x)/(1 - x), x = eta L, or from (16).
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
(assert (not (<= (+ p (* (- 1.0 p) (* (+ 1.0 (/ (* p x) root2)) (+ 1.0 (/ (* p x) root2))))) 2.0)))
(check-sat)
