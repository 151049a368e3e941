; pflmf.eq16.corrected.step_5_a
; step 5: a/(1 - q/(2K)) is at most p/3
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= (* 2.0 x) 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (/ (/ (* (* p x) (* p x)) (+ 1.0 x)) (- 1.0 (/ (* p x) (* 2.0 K)))) (/ p 3.0))))
(check-sat)
