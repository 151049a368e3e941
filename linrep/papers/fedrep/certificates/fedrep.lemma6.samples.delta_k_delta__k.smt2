; fedrep.lemma6.samples.delta_k + delta'_k
; delta_k + delta'_k: The number of samples in Lemma 6 makes its errors small enough.
(set-logic QF_NRA)
(declare-const one Real)
(declare-const other Real)
(declare-const c Real)
(declare-const unit Real)
(assert (> one 0.0))
(assert (>= other 0.0))
(assert (> c 0.0))
(assert (>= unit 1.0))
(assert (not (<= (* (* (* c (+ one other)) (* c (+ one other))) (* (* (/ 125.0 16.0) unit) (* (/ 125.0 16.0) unit))) (* (* 2.0 (* (* (* (/ 125.0 16.0) c) unit) (* (* (/ 125.0 16.0) c) unit))) (+ (* one one) (* other other))))))
(check-sat)
