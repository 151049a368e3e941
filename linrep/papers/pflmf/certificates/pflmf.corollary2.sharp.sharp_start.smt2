; pflmf.corollary2.sharp.sharp_start
; eta = 1/(2 L sqrt(T)): both terms are (4 L (F^0 - F*) + 3 sigma^2/2)/(2 sqrt(T) - 1)
(set-logic QF_NRA)
(declare-const L Real)
(declare-const root Real)
(assert (> L 0.0))
(assert (>= root 1.0))
(assert (not (= (+ (/ L (* (* (/ 1.0 (* 2.0 root)) (* root root)) (- 1.0 (/ 1.0 (* 2.0 root))))) (/ (* (/ 3.0 2.0) (/ 1.0 (* 2.0 root))) (- 1.0 (/ 1.0 (* 2.0 root))))) (/ (+ (* 4.0 L) (/ 3.0 2.0)) (- (* 2.0 root) 1.0)))))
(check-sat)
