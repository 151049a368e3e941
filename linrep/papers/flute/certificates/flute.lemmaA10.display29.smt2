; flute.lemmaA10.display29
; (28) to (29)
(set-logic QF_NRA)
(declare-const x Real)
(assert (> x 0.0))
(assert (<= (* 36.0 x) 1.0))
(assert (not (<= (/ (- 12.0 x) (+ 12.0 x)) (* (- 1.0 (* (/ 1.0 16.0) x)) (- 1.0 (* (/ 1.0 16.0) x))))))
(check-sat)
