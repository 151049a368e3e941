"""(44) to (50): the terms of a step's drift, in the proof of Lemma C.8."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, statement
from linrep.claims.evidence import PROVED
from linrep.papers.perfedsi import _exact
from linrep.papers.perfedsi._hypotheses import COMPLETION
from linrep.papers.perfedsi._states import drawn
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import Walks

NAMES = ("(44)", "(45)", "(46)", "between (47) and (48)")


def terms(truth, U, V) -> list[float]:
    """Return d times the means of (44) to (46) over items and clients, eta left out, in norm.

    And the largest |x_i u_i'v| of a client over the root of its loss, of the display after (47).
    """
    E, star = U @ V.T - truth.M, truth.M
    sums = [np.zeros(U.shape) for _ in range(3)]
    largest = 0.0
    for z in truth.Z:
        x, v = E @ z, V.T @ z
        sums[0] += (z @ z) * np.outer(star @ z, U.T @ x)
        # U H' z z' V has U'x in the place of the item's row.
        sums[1] += (z @ z) * np.outer(U @ (U.T @ x), v)
        sums[2] += np.outer(x, v) * (v @ v)
        if x @ x > 0.0:
            largest = max(largest, float(np.max(np.abs(x * (U @ v))) / np.sqrt(0.5 * x @ x)))
    return [float(np.linalg.norm(each)) / truth.n for each in sums] + [largest]


def bounds(setting, loss, mu_z, root) -> list[float]:
    """Return the right sides; with root they have the root of 2c, and of 2 in the last one.

    Of the last the printed c^2 is c then.
    """
    s = setting
    unit = (s.p * s.largest) ** 1.5 * np.sqrt((2.0 * s.c if root else 1.0) * loss)
    last = s.largest * np.sqrt(s.p * s.k) * s.mu**1.5 / s.d
    last *= s.c * np.sqrt(2.0) if root else s.c**2
    mus = mu_z**1.5, s.mu**1.5
    return [s.c * mus[0] * unit, s.c**3 * mus[1] * unit, s.c**3 * mus[1] * unit, last]


def _random(budget, rng, root, factor):
    """Yield cases at random states of the server, at least c and mu."""
    for _ in range(budget(60, 1000)):
        p, d = int(rng.integers(1, 5)), int(rng.choice([2, 4, 8]))
        state = drawn(
            rng, n=p + int(rng.integers(0, 4)), d=d, p=p, k=int(rng.integers(1, min(d, p) + 1)),
            error=10.0 ** rng.uniform(-3, 0), tilt=2.0 ** rng.uniform(-2, 2),
        )  # fmt: skip
        setting = state.setting(Walks(state, np.zeros((1, 0), dtype=int), 0.0).limits())
        mu_z = theory.scaling(state.truth.Z).mu_z
        found = terms(state.truth, state.U, state.V)
        for name, left, right in zip(
            NAMES, found, bounds(setting, state.loss, mu_z, root), strict=True
        ):
            yield name, left / (factor * right), 1.0, {"c": setting.c, "k": p, "d": d}


def _in_fractions(root, factor) -> list[Cases]:
    """Compare squares at V = V*, U = c U* with c a little above 1, c_z = mu_z = sigma_1 = 1."""
    state = _exact.of_sides(Fraction(1), error=Fraction(1, 1000))
    U, V, d = state.U, state.V, len(state.U)
    c = Fraction(1001, 1000)  # of U
    x, loss = state.errors(U, V)[0], state.loss()
    mu = d * max(U**2)
    more = 2 * c if root else Fraction(1)
    pairs = (
        (sum((state.star_U * (U @ x)) ** 2), c**2 * more * loss),
        (sum((U * (U @ x)) ** 2), c**6 * mu**3 * more * loss),
        (x @ x, c**6 * mu**3 * more * loss),
        (max(x**2 * U**2), mu / d**2 * loss * (2 * c**2 if root else c**4)),
    )
    return [
        Cases(
            [(left, Fraction(factor) ** 2 * right, state.plain() | {"c": str(c), "mu": str(mu)})],
            quantity="square of the term", name=f"{name} in fractions",
            strength=PROVED if root else "",
        )
        for name, (left, right) in zip(NAMES, pairs, strict=True)
    ]  # fmt: skip


@statement(
    "perfedsi.eq44_50",
    place="Lemma C.8, (44)-(46) and the display after (47)",
    latex=r"\Big\|\frac\eta M\sum_m E_t[M_*z_mz_m^\top\hat H]\Big\|_F \le \frac{\eta k^{3/2}}d"
    r" c\mu_z^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L},\quad |(e_i^\top E z_m)(e_i^\top UV^\top z_m)|"
    r" \le c^2\sigma_1\frac{\sqrt{kr\mu_E\mu_U\mu_z}}d\sqrt{\mathcal L_m}",
    plain="The terms of a local step's drift are bounded as in the proof of Lemma C.8.",
    hypotheses=COMPLETION,
    negative_control={"factor": 0.5},
)
def eq44_50(budget, rng, *, root=False, factor=1.0):
    """Compare at iterates of the server; ||E z||^2 is 2 L_m, and L_m at most c L."""
    found: dict[str, list] = {name: [] for name in NAMES}
    for name, *case in _random(budget, rng, root, factor):
        found[name].append(case)
    yield from _in_fractions(root, factor)
    for name, cases in found.items():
        yield Cases(
            cases, quantity="lhs/rhs", name=f"{name}, random", strength=PROVED if root else ""
        )


eq44_50.corrected(
    "perfedsi.eq44_50.corrected",
    latex=r"\Big\|\frac\eta M\sum_m E_t[M_*z_mz_m^\top\hat H]\Big\|_F \le \frac{\eta k^{3/2}}d"
    r" c\mu_z^{3/2}\sigma_1^{3/2}\sqrt{2c\mathcal L},\quad |(e_i^\top E z_m)(e_i^\top UV^\top z_m)|"
    r" \le c\sigma_1\frac{\sqrt{2kr\mu_E\mu_U\mu_z}}d\sqrt{\mathcal L_m}",
    plain="With sqrt(2 c L) for sqrt(L), as ||E z||^2 is 2 L_m and L_m at most c L, the terms of "
    "a local step's drift are bounded as in the proof of Lemma C.8.",
    constants={"root": True},
    negative_control={"factor": 0.5},
)
