; fedrep.lemma6.samples.roots
; (a + b)^2 <= 2 (a^2 + b^2), for the roots of both terms
(set-logic QF_NRA)
(declare-const a Real)
(declare-const b Real)
(assert (>= a 0.0))
(assert (>= b 0.0))
(assert (not (<= (* (+ a b) (+ a b)) (* 2.0 (+ (* a a) (* b b))))))
(check-sat)
