; fedrep.theorem1.gaussian.longest
; a head is at most 61 sqrt(k)/50
(set-logic QF_NRA)
(declare-const z Real)
(assert (>= z 0.0))
(assert (<= (* 64.0 (* z z)) 3.0))
(assert (not (<= (* 50.0 (+ 1.0 z)) 61.0)))
(check-sat)
