; fedrep.eq70_83.display83_first
; (83) from (82), the first term
(set-logic QF_NRA)
(declare-const delta Real)
(declare-const other Real)
(assert (>= delta 0.0))
(assert (>= other 0.0))
(assert (< (+ delta other) 1.0))
(assert (not (<= (/ delta (* (- 1.0 delta) (- 1.0 delta))) (/ delta (* (- 1.0 (+ delta other)) (- 1.0 (+ delta other)))))))
(check-sat)
