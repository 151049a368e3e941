; fedrep.eq70_83.(82)
; (82): (82), and (83) from it, over 2 eta sigma_max^2; deltabar is delta + other.
(set-logic QF_NRA)
(declare-const delta Real)
(assert (>= delta 0.0))
(assert (< delta 1.0))
(assert (not (<= (+ (/ delta (- 1.0 delta)) (* (/ delta (- 1.0 delta)) (/ delta (- 1.0 delta)))) (/ (* 2.0 delta) (* (- 1.0 delta) (- 1.0 delta))))))
(check-sat)
