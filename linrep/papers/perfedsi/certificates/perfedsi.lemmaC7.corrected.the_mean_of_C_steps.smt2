; perfedsi.lemmaC7.corrected.the mean of C steps
; the mean of C steps: For E||y||^2 and ||E y||^2.
(set-logic QF_NRA)
(declare-const C Real)
(declare-const first Real)
(declare-const second Real)
(assert (>= C 1.0))
(assert (>= first 0.0))
(assert (>= second 0.0))
(assert (<= second first))
(assert (not (<= (+ (/ first C) (* (- 1.0 (/ 1.0 C)) second)) (+ (/ first C) second))))
(check-sat)
