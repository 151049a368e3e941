; fedrep.eq70_83.display83_second
; (83) from (82), the second term
(set-logic QF_NRA)
(declare-const delta Real)
(declare-const other Real)
(declare-const s Real)
(assert (>= delta 0.0))
(assert (>= other 0.0))
(assert (< (+ delta other) 1.0))
(assert (>= s 1.0))
(assert (not (<= (* 2.0 other) (/ (* (* 4.0 s) other) (* (- (- 1.0 delta) other) (- (- 1.0 delta) other))))))
(check-sat)
