; fedrep.eq70_83.(83), second term
; (83), second term: (82), and (83) from it, over 2 eta sigma_max^2; deltabar is delta + other.
(set-logic QF_NRA)
(declare-const delta Real)
(declare-const other Real)
(declare-const s Real)
(assert (>= delta 0.0))
(assert (< delta 1.0))
(assert (>= other 0.0))
(assert (< other (- 1.0 delta)))
(assert (>= s 1.0))
(assert (not (<= (* 2.0 other) (/ (* (* 4.0 s) other) (* (- (- 1.0 delta) other) (- (- 1.0 delta) other))))))
(check-sat)
