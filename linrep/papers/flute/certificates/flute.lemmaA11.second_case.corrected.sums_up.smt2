; flute.lemmaA11.second_case.corrected.sums_up
; 1 + 128/(1 - y) is at most 200 for y = x/16
(set-logic QF_NRA)
(declare-const x Real)
(assert (> x 0.0))
(assert (<= (* 36.0 x) 1.0))
(assert (not (<= (+ 1.0 (/ 128.0 (- 1.0 (/ x 16.0)))) 200.0)))
(check-sat)
