; fedrep.eq70_83.(83), first term
; (83), first term: (82), and (83) from it, over 2 eta sigma_max^2; deltabar is delta + other.
(set-logic QF_NRA)
(declare-const delta Real)
(declare-const other Real)
(assert (>= delta 0.0))
(assert (< delta 1.0))
(assert (>= other 0.0))
(assert (< other (- 1.0 delta)))
(assert (not (<= (/ delta (* (- 1.0 delta) (- 1.0 delta))) (/ delta (* (- (- 1.0 delta) other) (- (- 1.0 delta) other))))))
(check-sat)
