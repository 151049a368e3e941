; pflmf.eq16.corrected.c - 1
; c - 1: Of the derivation, q = p eta L.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= x (/ 1.0 2.0)))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (+ (/ (* p p p) K) (/ (* (* (* (* (- 1.0 p) (* p p p p)) x) (- K 1.0)) (- (* 2.0 K) 1.0)) (* 3.0 (* K K)))) 1.0)))
(check-sat)
