; perfedsi.lower_bound.corrected.counts
; counts: Where d k^(3/2) <= M, d k^(3/2) r <= (d + M) r; root is that of k.
(set-logic QF_NRA)
(declare-const d Real)
(declare-const root Real)
(declare-const r Real)
(declare-const M Real)
(assert (> d 0.0))
(assert (>= root 1.0))
(assert (> r 0.0))
(assert (<= (* d (* root root root)) M))
(assert (not (<= (* (* d (* root root root)) r) (* (+ d M) r))))
(check-sat)
