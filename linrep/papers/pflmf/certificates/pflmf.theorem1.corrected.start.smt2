; pflmf.theorem1.corrected.start
; start: Follow from the round summed anew times (1 - 2 x)/(1 - x), x = eta L, or from (16).
(set-logic QF_NRA)
(declare-const x Real)
(assert (> x 0.0))
(assert (<= x (/ 1.0 2.0)))
(assert (not (<= (/ (- 1.0 (* 2.0 x)) (- 1.0 x)) 1.0)))
(check-sat)
