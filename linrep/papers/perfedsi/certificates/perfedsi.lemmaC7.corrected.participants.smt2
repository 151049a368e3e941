; perfedsi.lemmaC7.corrected.participants
; 1/(C d) + 1/d^2 against the mean of C squares
(set-logic QF_NRA)
(declare-const C Real)
(declare-const first Real)
(declare-const second Real)
(assert (>= C 1.0))
(assert (>= second 0.0))
(assert (<= second first))
(assert (not (<= (+ (/ first C) (* (- 1.0 (/ 1.0 C)) second)) (+ (/ first C) second))))
(check-sat)
