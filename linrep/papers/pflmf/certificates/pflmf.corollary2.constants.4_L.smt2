; pflmf.corollary2.constants.4 L
; 4 L: Theorem 1's factor of the start at eta = 1/(2 L root), root^2 = T.
(set-logic QF_NRA)
(declare-const L Real)
(declare-const root Real)
(assert (> L 0.0))
(assert (> root 1.0))
(assert (not (= (/ 2.0 (* (* (/ 1.0 (* (* 2.0 L) root)) (* root root)) (- 1.0 (* (* 2.0 (/ 1.0 (* (* 2.0 L) root))) L)))) (/ (* 4.0 L) (- root 1.0)))))
(check-sat)
