; fedrep.lemma2.eq31.corrected.(32)
; (32): Show (31) without its middle term, over k, and (32).
(set-logic QF_NRA)
(declare-const k Real)
(declare-const L Real)
(assert (>= k 1.0))
(assert (>= L 0.0))
(assert (not (<= (* (* 110.0 (* k k k)) L) (- (* (* 121.0 (* k k k)) L) L))))
(check-sat)
