"""What the checks of Lemmas C.8 to C.10 share."""

from __future__ import annotations

import numpy as np

from linrep.papers.perfedsi._enumeration import OVERFLOW, items_for
from linrep.papers.perfedsi._states import drawn, plain
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import Walks


def unit_of(state, limits, step_size, p_power=1.5) -> float:
    """Return (eta/d) p^p_power c^3 mu^{3/2} sigma_1^{3/2} sqrt(L)."""
    setting = state.setting(limits)
    bare = theory.drift(
        setting, step_size=step_size, steps=1, loss=state.loss, factor=1.0, with_p=False
    )
    return float(bare) * state.truth.p**p_power


def sizes_of(walks, limits, s, weight=1.0) -> np.ndarray:
    """Return a_s and b_s; weight is that of the server's gradient."""
    in_U, in_V, _ = walks.drift(limits, s, weight)
    return np.array([np.linalg.norm(in_U), np.linalg.norm(in_V)])


def case_of(state, limits, step_size, **further) -> dict:
    """Return plain values of a case."""
    return {
        **plain(state),
        "step_size": step_size,
        "c": limits.c,
        "mu": state.setting(limits).mu,
        **further,
    }


def largest_step(state, limits) -> float:
    """Return that which the proof of Lemma C.8 asks for, in the unit of M*, with constant 1."""
    s = state.setting(limits)
    return s.smallest / (np.sqrt(s.p * s.k) * s.mu**1.5 * s.largest**2)


def short_step(state, limits, steps) -> float:
    """Return the largest step with eta tau k r mu^2 c^2 sigma_1 <= 1/132.

    The derivation of Lemma C.10, corrected, asks for that.
    """
    s = state.setting(limits)
    return 1.0 / (132.0 * steps * s.p * s.k * s.mu**2 * s.c**2 * s.largest)


def random_walks(budget, rng, most_steps, beyond=0.0, *, short=False):
    """Yield walks from random states, limits that all or some keep, and if means are exact.

    Steps are up to 10^beyond times the largest one, or nine tenths of the short one; means over
    balanced sequences are not exact.
    """
    for _ in range(budget(50, 800, 4000)):
        p = int(rng.integers(1, 5))
        d = int(rng.choice([2, 4, 8]))
        state = drawn(
            rng,
            n=p + int(rng.integers(0, 3)),
            d=d,
            p=p,
            k=int(rng.integers(1, min(d, p) + 1)),
            error=10.0 ** rng.uniform(-3, 0),
            tilt=2.0 ** rng.uniform(-2, 2),
            condition=10.0 ** rng.uniform(0, 1),
        )
        items = items_for(d, int(rng.integers(1, most_steps + 1)), budget(300, 520), rng)
        start = Walks(state, items[:1], 0.0).limits()
        step_size = largest_step(state, start)
        if short:
            step_size = 0.9 * short_step(state, start, items.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # walks that diverge are left out
            walks = Walks(state, items, step_size * 10.0 ** rng.uniform(-3, beyond))
            found = [walks.limits(quantile) for quantile in (1.0, 0.9, 0.7)]
        for limits in found:
            if limits.c < OVERFLOW and walks.kept(limits, 0).min() > 0.0:
                yield walks, limits, len(items) == d ** items.shape[1]
