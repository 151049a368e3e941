; pflmf.eq16.corrected.step 5, C
; step 5, C: Of the derivation, q = p eta L.
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= x (/ 1.0 2.0)))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (+ p (* (- 1.0 p) (+ 2.0 (/ (* (* (* p x) (* p x)) (- K 1.0)) K)))) (+ (- 2.0 p) (/ p 16.0)))))
(check-sat)
