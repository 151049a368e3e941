; pflmf.corollary2.sharp.example
; example: The same functions: the left side is at most the right one.
(set-logic QF_NRA)
(declare-const L Real)
(declare-const e Real)
(declare-const T Real)
(assert (> L 0.0))
(assert (>= T 1.0))
(assert (not (<= (/ (* 2.0 (* (* L e) (* L e))) T) (/ (* (* 4.0 L) (/ (* L (* e e)) 2.0)) T))))
(check-sat)
