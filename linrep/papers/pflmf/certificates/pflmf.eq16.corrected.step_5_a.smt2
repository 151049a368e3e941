; pflmf.eq16.corrected.step 5, a
; step 5, a: Of the derivation, q = p eta L.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= x (/ 1.0 2.0)))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (/ (/ (* (* p x) (* p x)) (+ 1.0 x)) (- 1.0 (/ (* p x) (* 2.0 K)))) (/ p 3.0))))
(check-sat)
