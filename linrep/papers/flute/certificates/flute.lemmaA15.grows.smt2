; flute.lemmaA15.grows
; s/2 - eta s^3/2 grows for eta <= 1/6 and s^2 <= 2
(set-logic QF_NRA)
(declare-const eta Real)
(declare-const s Real)
(declare-const t Real)
(assert (> eta 0.0))
(assert (<= (* 6.0 eta) 1.0))
(assert (>= s 0.0))
(assert (<= s t))
(assert (<= (* t t) 2.0))
(assert (not (<= (- (/ s 2.0) (/ (* eta (* s s s)) 2.0)) (- (/ t 2.0) (/ (* eta (* t t t)) 2.0)))))
(check-sat)
