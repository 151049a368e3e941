; perfedsi.theorem3.3.local.a round: what residuals take off less what q adds
; a round: what residuals take off less what q adds: Over eta tau/d; sigma is sigma_r, the square that of R or less.
(set-logic QF_NRA)
(declare-const c_z Real)
(declare-const k Real)
(declare-const sigma Real)
(declare-const square Real)
(assert (>= c_z 1.0))
(assert (>= k 1.0))
(assert (> sigma 0.0))
(assert (>= square 0.0))
(assert (<= square (/ sigma (* (* 576.0 (* c_z c_z)) k))))
(assert (not (<= (/ (* 1.0 sigma) c_z) (- (/ (* (/ 634207.0 589824.0) sigma) c_z) (* (* (* (/ 63001.0 31250.0) k) c_z) square)))))
(check-sat)
