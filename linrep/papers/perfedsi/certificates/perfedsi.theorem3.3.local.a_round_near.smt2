; perfedsi.theorem3.3.local.a_round_near
; a round: what residuals take off less what q adds is at least sigma_r/c_z
(set-logic QF_NRA)
(declare-const c_z Real)
(declare-const k Real)
(declare-const radius Real)
(declare-const sigma Real)
(assert (>= c_z 1.0))
(assert (>= k 1.0))
(assert (> sigma 0.0))
(assert (> radius 0.0))
(assert (= (* (* (* (* radius radius) 576.0) (* c_z c_z)) k) sigma))
(assert (not (>= (- (/ (* (/ 634207.0 589824.0) sigma) c_z) (* (* (* (/ 63001.0 31250.0) k) c_z) (* radius radius))) (/ sigma c_z))))
(check-sat)
