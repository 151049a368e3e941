; fedrep.theorem1.gaussian.longest
; longest: Bound the matrix of all zeta_i, a head, and 2 k log(21) + t.
(set-logic QF_NRA)
(declare-const root3 Real)
(declare-const z Real)
(assert (> root3 0.0))
(assert (= (* root3 root3) 3.0))
(assert (>= z 0.0))
(assert (<= z (/ root3 8.0)))
(assert (not (<= (* 50.0 (+ 1.0 z)) 61.0)))
(check-sat)
