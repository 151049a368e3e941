; fedrep.eq85.corrected.left_half
; 1 - a + 2y <= 1 - 4y
(set-logic QF_NRA)
(declare-const a Real)
(declare-const y Real)
(assert (> a 0.0))
(assert (<= (* 4.0 a) 1.0))
(assert (>= y 0.0))
(assert (<= (* 6.0 y) a))
(assert (not (<= (+ (- 1.0 a) (* 2.0 y)) (- 1.0 (* 4.0 y)))))
(check-sat)
