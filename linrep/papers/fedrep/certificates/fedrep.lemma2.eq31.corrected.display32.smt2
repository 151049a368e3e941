; fedrep.lemma2.eq31.corrected.display32
; (32): 121 k^3 L - L >= 110 k^3 L
(set-logic QF_NRA)
(declare-const k Real)
(declare-const L Real)
(assert (>= k 1.0))
(assert (>= L 0.0))
(assert (not (>= (- (* (* 121.0 (* k k k)) L) L) (* (* 110.0 (* k k k)) L))))
(check-sat)
