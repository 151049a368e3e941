; fedrep.eq70_83.display82
; (82): the sum of both bounds
(set-logic QF_NRA)
(declare-const delta Real)
(assert (>= delta 0.0))
(assert (< delta 1.0))
(assert (not (<= (+ (/ delta (- 1.0 delta)) (* (/ delta (- 1.0 delta)) (/ delta (- 1.0 delta)))) (/ (* 2.0 delta) (* (- 1.0 delta) (- 1.0 delta))))))
(check-sat)
