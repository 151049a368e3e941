; fedrep.eq85.corrected.conclusion from the hypothesis
; conclusion from the hypothesis: Take the largest y that the hypothesis leaves, E0/kappa^2 being 1.
(set-logic QF_NRA)
(declare-const delta Real)
(declare-const a Real)
(assert (>= delta 0.0))
(assert (<= delta (/ 8.0 75.0)))
(assert (> a 0.0))
(assert (<= a (/ 1.0 4.0)))
(assert (not (<= (* (+ (- 1.0 a) (* 2.0 (/ (* a delta) (* (- 1.0 delta) (- 1.0 delta))))) (+ (- 1.0 a) (* 2.0 (/ (* a delta) (* (- 1.0 delta) (- 1.0 delta)))))) (* (- 1.0 (* 4.0 (/ (* a delta) (* (- 1.0 delta) (- 1.0 delta))))) (- 1.0 (* (/ 1.0 2.0) a))))))
(check-sat)
