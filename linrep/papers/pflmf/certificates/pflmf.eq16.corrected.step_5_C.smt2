; pflmf.eq16.corrected.step_5_C
; step 5: C is at most 2 - p + p/16
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= (* 2.0 x) 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (>= (+ (- 2.0 p) (/ p 16.0)) (+ p (* (- 1.0 p) (+ 2.0 (/ (* (* (* p x) (* p x)) (- K 1.0)) K)))))))
(check-sat)
