; flute.appendixA24.c_4 counts the rounds before R
; c_4 counts the rounds before R: Of the powers T_R and t - T_R of 1 - eta Delta/16.
(set-logic QF_NRA)
(declare-const entered Real)
(declare-const later Real)
(assert (> entered 0.0))
(assert (<= entered 1.0))
(assert (> later 0.0))
(assert (<= later 1.0))
(assert (not (= (* 400.0 later) (* (/ 400.0 entered) (* entered later)))))
(check-sat)
