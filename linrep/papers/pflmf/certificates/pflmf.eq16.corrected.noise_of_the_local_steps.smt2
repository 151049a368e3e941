; pflmf.eq16.corrected.noise of the local steps
; noise of the local steps: Of the derivation, q = p eta L.
(set-logic QF_NRA)
(declare-const K Real)
(assert (>= K 1.0))
(assert (not (<= (/ (* (- K 1.0) (- (* 2.0 K) 1.0)) (* 3.0 (* K K))) (* (/ 2.0 3.0) (- 1.0 (/ 1.0 K))))))
(check-sat)
