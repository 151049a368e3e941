; flute.lemmaA6.corrected.monotone on [0, sqrt(2 lambda*_1)]
; monotone on [0, sqrt(2 lambda*_1)]: The derivative of s (1 + eta/2 - eta s^2/2) is not negative, lambda*_1 being 1.
(set-logic QF_NRA)
(declare-const square Real)
(declare-const eta Real)
(assert (>= square 0.0))
(assert (<= square 2.0))
(assert (> eta 0.0))
(assert (<= eta (/ 2.0 5.0)))
(assert (not (>= (- (+ 1.0 (/ eta 2.0)) (/ (* (* 3.0 eta) square) 2.0)) 0.0)))
(check-sat)
