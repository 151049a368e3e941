; perfedsi.lemmaC7.corrected.participants
; the mean of C steps: (1 - 1/C) ||E y||^2 <= ||E y||^2
(set-logic QF_NRA)
(declare-const C Real)
(declare-const first Real)
(declare-const second Real)
(assert (>= C 1.0))
(assert (>= second 0.0))
(assert (<= second first))
(assert (not (<= (+ (/ first C) (* (- 1.0 (/ 1.0 C)) second)) (+ (/ first C) second))))
(check-sat)
