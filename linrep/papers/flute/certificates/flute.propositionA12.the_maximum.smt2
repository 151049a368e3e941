; flute.propositionA12.the maximum
; the maximum: Below (37): the second member of the maximum is the larger one, and 400 of it are enough.
(set-logic QF_NRA)
(declare-const root Real)
(declare-const eta Real)
(assert (> root 0.0))
(assert (<= root 1.0))
(assert (> eta 0.0))
(assert (<= eta (/ (* root root root root) 36.0)))
(assert (not (<= (/ 1.0 root) (/ 1.0 (* eta (* root root root root))))))
(check-sat)
