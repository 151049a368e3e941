; pflmf.corollary2.sharp.substituted
; substituted: Both terms at eta = 1/(2 L root) are (4 L + 3/2)/(2 root - 1), of gap = sigma = 1.
(set-logic QF_NRA)
(declare-const L Real)
(declare-const root Real)
(assert (> L 0.0))
(assert (>= root 1.0))
(assert (not (= (+ (/ L (* (* (/ 1.0 (* 2.0 root)) (* root root)) (- 1.0 (/ 1.0 (* 2.0 root))))) (/ (* (/ 3.0 2.0) (/ 1.0 (* 2.0 root))) (- 1.0 (/ 1.0 (* 2.0 root))))) (/ (+ (* 4.0 L) (/ 3.0 2.0)) (- (* 2.0 root) 1.0)))))
(check-sat)
