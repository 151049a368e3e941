; fedrep.eq85.corrected.conclusion
; conclusion: Lead from the hypothesis on deltabar to the contraction.
(set-logic QF_NRA)
(declare-const a Real)
(declare-const y Real)
(assert (> a 0.0))
(assert (<= a (/ 1.0 4.0)))
(assert (>= y 0.0))
(assert (<= y (/ a 6.0)))
(assert (not (<= (* (+ (- 1.0 a) (* 2.0 y)) (+ (- 1.0 a) (* 2.0 y))) (* (- 1.0 (* 4.0 y)) (- 1.0 (* (/ 1.0 2.0) a))))))
(check-sat)
