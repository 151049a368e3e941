; anil.round.rank_one
; rank one: the squared sine after a round, from its square s before
(set-logic QF_NRA)
(declare-const s Real)
(declare-const g Real)
(assert (>= s 0.0))
(assert (<= s 1.0))
(assert (>= g 0.0))
(assert (<= g 1.0))
(assert (not (<= (* (* (- 1.0 (* g (- 1.0 s))) (- 1.0 (* g (- 1.0 s)))) s) (* (* (* (- 1.0 (* (* 1.0 g) (- 1.0 s))) (- 1.0 (* (* 1.0 g) (- 1.0 s)))) s) (+ 1.0 (* (* (* g g) (- 1.0 s)) s))))))
(check-sat)
