; fedrep.eq67.display69
; (69): both deviations in one, for a sum below 1
(set-logic QF_NRA)
(declare-const delta Real)
(declare-const other Real)
(declare-const s Real)
(assert (>= delta 0.0))
(assert (>= other 0.0))
(assert (< (+ delta other) 1.0))
(assert (>= s 1.0))
(assert (not (<= (+ (/ (* (* 2.0 s) delta) (- 1.0 delta)) other) (* (* 2.0 s) (/ (+ delta other) (- (- 1.0 delta) other))))))
(check-sat)
