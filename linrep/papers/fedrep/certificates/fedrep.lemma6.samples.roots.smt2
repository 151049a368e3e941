; fedrep.lemma6.samples.roots
; (sqrt a + sqrt b)^2 <= 2 (a + b)
(set-logic QF_NRA)
(declare-const a Real)
(declare-const b Real)
(assert (>= a 0.0))
(assert (>= b 0.0))
(assert (not (<= (* (+ a b) (+ a b)) (* 2.0 (+ (* a a) (* b b))))))
(check-sat)
