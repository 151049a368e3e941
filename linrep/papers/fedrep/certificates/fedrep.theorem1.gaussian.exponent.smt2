; fedrep.theorem1.gaussian.exponent
; exponent: Bound the matrix of all zeta_i, a head, and 2 k log(21) + t.
(set-logic QF_NRA)
(declare-const k Real)
(declare-const d Real)
(declare-const t Real)
(declare-const log21 Real)
(assert (>= k 1.0))
(assert (<= k d))
(assert (>= t 0.0))
(assert (>= log21 0.0))
(assert (<= log21 (/ 609.0 200.0)))
(assert (not (<= (+ (* (* 200.0 k) log21) (* 100.0 t)) (* 609.0 (+ d (* 2.0 t))))))
(check-sat)
