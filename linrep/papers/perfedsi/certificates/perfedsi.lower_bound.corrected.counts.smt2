; perfedsi.lower_bound.corrected.counts
; d k^(3/2) r <= (d + M) r where d k^(3/2) <= M
(set-logic QF_NRA)
(declare-const d Real)
(declare-const root Real)
(declare-const r Real)
(declare-const M Real)
(assert (> d 0.0))
(assert (>= root 1.0))
(assert (> r 0.0))
(assert (> M 0.0))
(assert (<= (* d (* root root root)) M))
(assert (not (<= (* (* d (* root root root)) r) (* (+ d M) r))))
(check-sat)
