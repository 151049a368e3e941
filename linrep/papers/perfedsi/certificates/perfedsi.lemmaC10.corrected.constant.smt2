; perfedsi.lemmaC10.corrected.constant
; sqrt(2) * 6 / 2 <= 10
(set-logic QF_NRA)
(declare-const root2 Real)
(assert (> root2 0.0))
(assert (= (* root2 root2) 2.0))
(assert (not (<= (/ (* 6.0 root2) 2.0) 10.0)))
(check-sat)
