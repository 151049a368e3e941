; pflmf.eq16.auxiliary.first_member
; after Lemma 5, the first member is at most the second
(set-logic QF_NRA)
(declare-const x Real)
(declare-const p Real)
(declare-const K Real)
(assert (> x 0.0))
(assert (<= (* 2.0 x) 1.0))
(assert (> p 0.0))
(assert (<= p 1.0))
(assert (>= K 1.0))
(assert (not (<= (+ (/ (* 1.0 x) 2.0) (/ (* (* x p) (+ K 1.0)) (* 2.0 K))) (/ (* (/ x 2.0) (+ (* (+ 1.0 p) K) 1.0)) K))))
(check-sat)
