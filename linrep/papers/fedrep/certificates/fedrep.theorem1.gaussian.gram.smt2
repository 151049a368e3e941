; fedrep.theorem1.gaussian.gram
; squared singular values of Z_i are at least 2m/3
(set-logic QF_NRA)
(declare-const a Real)
(declare-const b Real)
(declare-const M Real)
(assert (>= a 0.0))
(assert (>= b 0.0))
(assert (> M 0.0))
(assert (<= (* 32.0 (* (+ a b) (+ a b))) (* M M)))
(assert (not (>= (* 3.0 (* (- (- M a) b) (- (- M a) b))) (* 2.0 (* M M)))))
(check-sat)
