; anil.diversity.corrected.both_heads
; the squared sine s after a round, from its square before
(set-logic QF_NRA)
(declare-const s Real)
(assert (>= s 0.0))
(assert (<= (* 25.0 s) 16.0))
(assert (not (<= (* (* 100.0 (* (- 1.0 (/ (- 1.0 s) 4.0)) (- 1.0 (/ (- 1.0 s) 4.0)))) s) (* (* 99.0 s) (+ 1.0 (/ (* (- 1.0 s) s) 16.0))))))
(check-sat)
