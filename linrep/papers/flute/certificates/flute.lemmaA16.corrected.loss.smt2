; flute.lemmaA16.corrected.loss
; loss: What sigma_k = s loses is at most eta^2, in units of lambda*_1.
(set-logic QF_NRA)
(declare-const root2 Real)
(declare-const s Real)
(assert (> root2 0.0))
(assert (= (* root2 root2) 2.0))
(assert (>= s 0.0))
(assert (<= s root2))
(assert (not (<= (- (- (* root2 s) (/ (* s s) 4.0)) (/ (* s s s s s s) 4.0)) 1.0)))
(check-sat)
