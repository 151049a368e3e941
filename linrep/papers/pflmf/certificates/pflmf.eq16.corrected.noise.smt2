; pflmf.eq16.corrected.noise
; the factor c of the noise is at most 2
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= (* 2.0 x) 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (+ (/ (* p p p) K) (/ (* (* (* (* (- 1.0 p) (* p p p p)) x) (- K 1.0)) (- (* 2.0 K) 1.0)) (* 3.0 (* K K)))) 1.0)))
(check-sat)
