"""A round summed anew, with every p and all noise: what takes the place of (12) to (16)."""

from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Cases, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines
from linrep.papers.pflmf.model import NOISE, SMOOTH, searched, valid
from linrep.papers.pflmf.runs import RATIO
from linrep.theory import pflmf


@lines("pflmf.eq16.resummed", Region(x=(Open(0), 1), p=(Open(0), 1), K=(1, None)))
def weight(x, p, K):
    """Over p^2/C it is the factor of the participants' gradients in steps 1 and 2 together."""
    return {"w_V is not negative": at_most(0, 1 - p * x / (2 * K) - p * x**2 / 2)}


def nearly_equal(budget):
    """Yield rounds where both sides are nearly equal, over p, K, eta L and the noise."""
    one = np.ones((1, 1))
    families = {
        "V moves": (1e-5, one, 0.0 * one, (0.0, 1e-7)),
        "U moves": (1e-5, 0.0 * one, one, (0.0, 1e-7)),
        "at the minimum": (1.0, one, one, (1e-5,)),
    }
    for name, (a, U, V, noises) in families.items():
        problem = lr.QuadraticObjectives(np.full((1, 1), a))
        steps, sizes = budget((1, 5), (1, 2, 5, 20, 200)), (1e-3, 0.05, 0.25, 0.49, 1.0)
        for p, K, eta_L, sigma in product((1.0, 0.7, 0.5, 0.25, 0.1, 0.02), steps, sizes, noises):
            case = valid(problem, U, V, p, K, eta_L, kind=name, least=sigma)
            if case is not None:
                yield case


@statement(
    "pflmf.eq16.resummed",
    own=True,
    corrects="pflmf.eq16",
    place="(12) to (16), derived in another way; not stated there",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta \le \tfrac1L:\ "
    r"\frac{1 - \eta L}2 \Delta_U + \frac{p^2}C \Big(1 - \frac q{2K} - \frac{q\eta L}2\Big)"
    r" \Delta_V \le \frac{F - E F^+}\eta + \frac{\eta L\sigma^2}2 \Big(1 + \frac{p^3}K + p^3\eta L"
    r"\Big) + w_V(1 - p)\Big(\frac{q^2}2 + \frac q{\sqrt2}\Big)\sigma^2,\ q = p\eta L,\ C = p +"
    r" (1 - p)\Big(1 + \frac q{\sqrt2}\Big)^2",
    plain="Summed anew, the steps of the proof bound Delta_U and about p^2 Delta_V by the "
    "decrease of a round.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"p_power": 1.8},
    stronger={"weight_U": 1, "weight_V": 1, "p_power": -1, "noise": -1},
)
def resummed(budget, rng, *, weight_U=1.0, weight_V=1.0, p_power=2.0, noise=1.0):
    """Search one round for each step and the sum, and compare the sum where both sides agree."""

    def weights(s):
        """Return the weights and the noise at a setting, as changed by the constants."""
        r = pflmf.resummed(s)
        of_V = weight_V * s.participation ** (p_power - 2.0) * r.weight_V
        return pflmf.Resummed(weight_U * r.weight_U, of_V, noise * r.noise)

    def families():
        for case in nearly_equal(budget):
            s, r = case.setting, case.round
            w = weights(s)
            left = w.weight_U * r.delta_U + w.weight_V * r.delta_V
            right = (r.value - r.after_both) / s.step_size + w.noise
            # F - E F+ is below 0 at the minimum: it is compared with what the noise is allowed.
            scale = w.noise if case.kind == "at the minimum" else right
            yield (left - right) / abs(scale) + 1.0, 1.0 + 1e-9, case.instance()

    def sides(case):
        """Return the sum, or the one of its steps that is nearest to a violation."""
        s, r = case.setting, case.round
        w = weights(s)
        whole = pflmf.Inequality(
            s.step_size * (w.weight_U * r.delta_U + w.weight_V * r.delta_V),
            r.value - r.after_both + s.step_size * w.noise,
        )
        pairs = (whole, *pflmf.resummed_steps(s, r))
        return max(pairs, key=lambda each: case.over_both(*each)[0] - case.over_both(*each)[1])

    yield weight.measure()
    yield Cases(list(families()), quantity=RATIO, name="families", strength=PROVED)
    name = "the sum and its steps, one round"
    yield searched(sides, budget, rng, name, strength=PROVED, halves=2)
