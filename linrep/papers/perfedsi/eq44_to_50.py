"""(44) to (46) and the display after (47): first terms of a step's drift, in Lemma C.8's proof."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, statement
from linrep.claims.evidence import PROVED
from linrep.papers.perfedsi._hypotheses import WITHIN
from linrep.papers.perfedsi._terms import Iterate, drawn_iterates, rounded, sharp_iterates
from linrep.papers.perfedsi.counterexamples.eq44_50 import sides

NAMES = ("(44)", "(45)", "(46)", "between (47) and (48)")


def terms(at: Iterate) -> list[float]:
    """Return d times the means of (44) to (46) over items and clients, eta left out, in norm.

    And the largest |x_i u_i'v| of a client over the root of its loss, of the display after (47).
    """
    U = at.U
    sums = [np.zeros(U.shape) for _ in range(3)]
    largest = 0.0
    for share, z, x, v in at.clients:
        sums[0] += share * (z @ z) * np.outer(at.star @ z, U.T @ x)
        # U H' z z' V has U'x in the place of the item's row.
        sums[1] += share * (z @ z) * np.outer(U @ (U.T @ x), v)
        sums[2] += share * np.outer(x, v) * (v @ v)
        if x @ x > 0.0:
            largest = max(largest, float(np.max(np.abs(x * (U @ v))) / np.sqrt(0.5 * x @ x)))
    return [float(np.linalg.norm(each)) for each in sums] + [largest]


def bounds(at, *, two, loss_power, first_power, c_power, last_power, k_power, mu_power):
    """Return the right sides; two c^loss_power L is under the root of the first three."""
    d, k, r = at.sizes
    top = float(np.linalg.norm(at.star, 2))
    unit = k**k_power * top**1.5 * np.sqrt(two * at.c**loss_power * at.loss)
    last = top * np.sqrt(two * k * r * at.mu_E * at.mu_U * at.mu_z) * at.c**last_power / d
    third = at.c**c_power * at.mu**mu_power * unit
    return [at.c**first_power * at.mu_z**mu_power * unit, third, third, last]


def _compared(iterates, factor, powers):
    """Return cases by display."""
    found: dict[str, list] = {name: [] for name in NAMES}
    for at in iterates:
        both = zip(terms(at), bounds(at, **powers), strict=True)
        for name, (left, right) in zip(NAMES, both, strict=True):
            found[name].append((rounded(left / (factor * right)), 1.0, at.plain()))
    return found


def _in_fractions(factor) -> list[Cases]:
    """Compare squares at V = V*, U = c U* with c a little above 1, c_z = mu_z = sigma_1 = 1.

    With the powers as printed.
    """
    e, d = Fraction(1, 1000), 16
    c = 1 + e  # of U, whose mu is its square; and mu_E = 1
    pairs = (
        sides(),
        ((c**2 * e) ** 2, c**12 * e**2 / 2),
        (e**2, c**12 * e**2 / 2),
        ((c * e) ** 2 / d**2, c**6 * e**2 / 2 / d**2),
    )
    instance = {"d": d, "M": 1, "k": 1, "r": 1, "c": str(c), "mu": str(c**2)}
    return [
        Cases(
            [(left, Fraction(factor) ** 2 * right, instance)],
            quantity="square of the term",
            name=f"{name} in fractions",
        )
        for name, (left, right) in zip(NAMES, pairs, strict=True)
    ]


@statement(
    "perfedsi.eq44_50",
    place="Lemma C.8, (44)-(46) and the display after (47)",
    latex=r"\Big\|\frac\eta M\sum_m E_t[M_*z_mz_m^\top\hat H]\Big\|_F \le \frac{\eta k^{3/2}}d"
    r" c\mu_z^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L},\quad |(e_i^\top E z_m)(e_i^\top UV^\top z_m)|"
    r" \le c^2\sigma_1\frac{\sqrt{kr\mu_E\mu_U\mu_z}}d\sqrt{\mathcal L_m}",
    plain="The terms of a local step's drift are bounded as in the proof of Lemma C.8.",
    hypotheses=WITHIN,
    negative_control={"factor": 0.5},
)
def eq44_50(
    budget,
    rng,
    *,
    two=1.0,
    loss_power=0.0,
    first_power=1.0,
    c_power=3.0,
    last_power=2.0,
    k_power=1.5,
    mu_power=1.5,
    factor=1.0,
):
    """Compare at iterates of the server, and after a step; ||E z||^2 is 2 L_m, L_m at most c L.

    Powers are of c in L_m <= c L, in (44), in (45) and (46) and in the last display, of k and mu.
    """
    powers = {
        "two": two,
        "loss_power": loss_power,
        "first_power": first_power,
        "c_power": c_power,
        "last_power": last_power,
        "k_power": k_power,
        "mu_power": mu_power,
    }
    strength = PROVED if (two, loss_power, last_power) == (2.0, 1.0, 1.0) else ""
    random = _compared(drawn_iterates(budget, rng), factor, powers)
    if (two, loss_power, last_power) == (1.0, 0.0, 2.0):
        yield from _in_fractions(factor)
    for way, found in (
        ("random", random),
        ("where it is sharp", _compared(sharp_iterates(), factor, powers)),
    ):
        for name, cases in found.items():
            yield Cases(cases, quantity="lhs/rhs", name=f"{name}, {way}", strength=strength)


eq44_50.corrected(
    "perfedsi.eq44_50.corrected",
    latex=r"\Big\|\frac\eta M\sum_m E_t[M_*z_mz_m^\top\hat H]\Big\|_F \le \frac{\eta k^{3/2}}d"
    r" c\mu_z^{3/2}\sigma_1^{3/2}\sqrt{2c\mathcal L},\quad |(e_i^\top E z_m)(e_i^\top UV^\top z_m)|"
    r" \le c\sigma_1\frac{\sqrt{2kr\mu_E\mu_U\mu_z}}d\sqrt{\mathcal L_m}",
    plain="With sqrt(2 c L) for sqrt(L), as ||E z||^2 is 2 L_m and L_m at most c L, the terms of "
    "a local step's drift are bounded as in the proof of Lemma C.8; both bounds are attained.",
    constants={"two": 2.0, "loss_power": 1.0, "last_power": 1.0},
    negative_control={"factor": 0.5},
    stronger={
        "two": -1,
        "loss_power": -1,
        "first_power": -1,
        "c_power": -1,
        "last_power": -1,
        "k_power": -1,
        "mu_power": -1,
    },
)
