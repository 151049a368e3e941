; pflmf.corollary2.constants.start
; for eta = 1/(2 L sqrt(T)): 2/(eta T (1 - 2 eta L)) = 4 L/(sqrt(T) - 1)
(set-logic QF_NRA)
(declare-const L Real)
(declare-const root Real)
(assert (> L 0.0))
(assert (> root 1.0))
(assert (not (= (/ 2.0 (* (* (/ 1.0 (* (* 2.0 L) root)) (* root root)) (- 1.0 (* (* 2.0 (/ 1.0 (* (* 2.0 L) root))) L)))) (/ (* 4.0 L) (- root 1.0)))))
(check-sat)
