"""Statements of `linrep.papers.pflmf.eq11`."""

import numpy as np
import pytest

from linrep.papers.pflmf import eq11, model


@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_local_steps_written_out_have_the_theorys_moments(noise):
    rng = np.random.default_rng(0)
    cases = [
        model.flat(0.25, 4, 0.499, noise, 3),
        *model.at_random(rng, 8, model.QUADRATIC, True),
    ]
    for case in cases:
        if case.setting.local_steps > 20 or case.setting.noise == 0.0:
            continue
        for k in (0, case.setting.local_steps - 1):
            left, masked = eq11.by_hand(case, k)
            assert case.round.masked_V[k] == pytest.approx(masked, rel=1e-9)
            noise = case.setting.participation * case.setting.noise**2
            assert left == pytest.approx(masked + noise, rel=1e-9)
