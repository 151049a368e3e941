; pflmf.theorem1.sharp.example
; example: The same functions: the left side is at most the right one.
(set-logic QF_NRA)
(declare-const L Real)
(declare-const x Real)
(declare-const e Real)
(assert (> L 0.0))
(assert (> x 0.0))
(assert (<= x 1.0))
(assert (not (<= (* (* (- 1.0 (* 1.0 x)) 2.0) (* (* L e) (* L e))) (* 1.0 (/ (* (* (/ L 2.0) (- (* e e) (* (* (- 1.0 (* 2.0 x)) (- 1.0 (* 2.0 x))) (* e e)))) L) x)))))
(check-sat)
