; pflmf.corollary2.sharp.attained
; attained: By L (u + v)^2/2, p = K = 1, eta = 1/(2 L), no noise.
(set-logic QF_NRA)
(declare-const L Real)
(declare-const e Real)
(declare-const T Real)
(assert (> L 0.0))
(assert (>= T 1.0))
(assert (not (= (/ (* 2.0 (* (* L e) (* L e))) T) (/ (* (* 4.0 L) (/ (* L (* e e)) 2.0)) T))))
(check-sat)
