"""(47) to (52): terms of higher order in a step's drift, in the proof of Lemma C.8."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Identity, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.papers.perfedsi._hypotheses import SHORT_STEPS, WITHIN
from linrep.papers.perfedsi._terms import Iterate, drawn_iterates, rounded, sharp_iterates
from linrep.papers.perfedsi.counterexamples.eq47_51 import sides
from linrep.papers.perfedsi.counterexamples.eq52 import sides as sides_of_52

NAMES = ("(48)", "after (48)", "(49)", "after (50)", "(51)")


def products(at: Iterate, z, x, v, item: int):
    """Return the products of one item's gradients in (47) and (50), by definition."""
    e = np.eye(len(x))[item]
    G, H = np.outer(e * x[item], v), x[item] * np.outer(z, at.U[item])
    zz = np.outer(z, z)
    return G @ H.T @ zz @ at.V, G @ H.T @ zz @ H


def _identities(iterates):
    """Yield deviations of (47) and (50), the second with e_i in its last line."""
    found: dict[str, list] = {"(47)": [], "(50)": []}
    for at in iterates:
        d = len(at.U)
        for _, z, x, v in at.clients:
            each = [products(at, z, x, v, item) for item in range(d)]
            inner = at.U @ v
            square = z @ z
            right = (
                square / d * np.outer(x * inner * x, v),
                square**2 / d * (x**3 * inner)[:, None] * at.U,
            )
            for place, name in enumerate(found):
                mean = sum(pair[place] for pair in each) / d
                size = square ** (1 + place) * (x @ x) ** (1 + place / 2) * np.abs(inner).max()
                floor = size * np.linalg.norm(at.U, 2) * 1e-3 + 1e-300
                found[name].append((relative(mean, right[place], floor), at.plain()))
    for name, deviations in found.items():
        yield Identity(deviations, 1e-9, name=name, strength=PROVED)


def terms(at: Iterate) -> list[float]:
    """Return d times the norms of the means over items and clients of (48), (49) and (51).

    Without powers of eta; beside them the product after (48), and after (50) the largest over items
    and clients of |x_i^3 u_i'v| over the 3/2-th power of the client's loss.
    """
    U = at.U
    sums = [np.zeros(U.shape) for _ in range(4)]
    largest = 0.0
    for share, z, x, v in at.clients:
        square, inner = share * (z @ z), U @ v
        sums[0] += square * np.outer(x**2 * inner, v)
        sums[1] += square * (v @ v) * (x**2)[:, None] * U
        sums[2] += square * (z @ z) * U @ (U.T @ ((x**2)[:, None] * U))
        sums[3] += square * (z @ z) * (x**3 * inner)[:, None] * U
        if x @ x > 0.0:
            largest = max(largest, float(np.max(np.abs(x**3 * inner)) / (0.5 * x @ x) ** 1.5))
    first, second, third, last = (float(np.linalg.norm(each)) for each in sums)
    return [first, second, third, largest, last]


def bounds(at, *, two, loss_power, c_power, mu_power, mu_U_power, cube_power):
    """Return the right sides; two and c^loss_power stand before L, c_power is that of norms.

    In (49) mu_z has mu_power and mu_U mu_U_power; cube_power is that of c after (50).
    """
    d, k, r = at.sizes
    top = float(np.linalg.norm(at.star, 2))
    loss = two * at.c**loss_power * at.loss
    unit = k**2 * top**1.5 * np.sqrt(r * at.mu_E) / d
    second = at.c**c_power * unit * loss
    usual = second * at.mu_z**2 * np.sqrt(at.mu_U)
    inside = at.c**cube_power * two**1.5 * at.mu_E**1.5 * top / d**2
    inside *= np.sqrt(k * r * at.mu_z * at.mu_U)
    last = at.c**c_power * loss**1.5 * k**2.5 * r * at.mu_E**1.5 * at.mu_z**2.5
    last *= np.sqrt(at.mu_U) * top**1.5 / d**2
    return [usual, usual, second * at.mu_z**mu_power * at.mu_U**mu_U_power, inside, last]


@statement(
    "perfedsi.eq47_51",
    place="Lemma C.8, (47)-(51)",
    latex=r"\Big\|\frac{\eta^2}M\sum_m E_t[\hat G\hat H^\top z_mz_m^\top V]\Big\|_F,"
    r" \Big\|\frac{\eta^2}M\sum_m E_t[\hat GV^\top z_mz_m^\top\hat H]\Big\|_F \le"
    r" \frac{\eta^2k^2}{d^2}c^3\sigma_1^{3/2}\mu_z^2\sqrt{r\mu_E\mu_U}\,\mathcal L,\quad"
    r" \Big\|\frac{\eta^2}M\sum_m E_t[U\hat H^\top z_mz_m^\top\hat H]\Big\|_F \le"
    r" \frac{\eta^2k^2}{d^2}c^3\sigma_1^{3/2}\sqrt{r\mu_z^2\mu_E}\,\mathcal L,\quad"
    r" \Big\|\frac{\eta^3}M\sum_m E_t[\hat G\hat H^\top z_mz_m^\top\hat H]\Big\|_F \le"
    r" \frac{\eta^3k^{5/2}r}{d^3}c^3\mu_E^{3/2}\mu_z^{5/2}\sqrt{\mu_U}\sigma_1^{3/2}"
    r"\mathcal L^{3/2}",
    plain="The terms of second and third order in a local step's drift are bounded with c^3.",
    hypotheses=WITHIN,
    negative_control={"c_power": 1.0},
    expected="fails",
)
def eq47_51(
    budget,
    rng,
    *,
    two=1.0,
    loss_power=0.0,
    c_power=3.0,
    mu_power=1.0,
    mu_U_power=0.0,
    cube_power=2.0,
):
    """Compare at iterates of the server, and after a step; (47) and (50) are identities.

    The printed c^3 is the norms' and the losses' together.
    """
    powers = {
        "two": two,
        "loss_power": loss_power,
        "c_power": c_power,
        "mu_power": mu_power,
        "mu_U_power": mu_U_power,
        "cube_power": cube_power,
    }
    strength = PROVED if (two, loss_power, c_power) == (2.0, 1.0, 2.0) else ""
    drawn = list(drawn_iterates(budget, rng))
    yield from _identities(drawn)
    if (two, loss_power, c_power, mu_power, mu_U_power) == (1.0, 0.0, 3.0, 1.0, 0.0):
        where = {"d": 16, "k": 1, "r": 1, "M": 1, "c": "1001/1000", "mu_z": 4, "mu_U": "c^2"}
        yield Cases([(*sides(), where)], quantity="(49)'s left side", name="(49) in fractions")
    for way, iterates in (("random", drawn), ("where it is sharp", list(sharp_iterates()))):
        found: dict[str, list] = {name: [] for name in NAMES}
        for at in iterates:
            for name, left, right in zip(NAMES, terms(at), bounds(at, **powers), strict=True):
                found[name].append((rounded(left / right), 1.0, at.plain()))
        for name, cases in found.items():
            yield Cases(cases, quantity="lhs/rhs", name=f"{name}, {way}", strength=strength)


eq47_51.corrected(
    "perfedsi.eq47_51.corrected",
    latex=r"\frac{2\eta^2k^2}{d^2}c^3\sigma_1^{3/2}\mu_z^2\sqrt{r\mu_E\mu_U}\,\mathcal L"
    r" \text{ in (48), after it and in (49)},\quad |(e_i^\top Ez_m)^3(z_m^\top VU^\top e_i)| \le"
    r" \frac{2^{3/2}c}{d^2}\mu_E^{3/2}\sqrt{kr\mu_z\mu_U}\sigma_1\mathcal L_m^{3/2},\quad"
    r" \frac{\eta^3k^{5/2}r}{d^3}(2c)^{3/2}c^2\mu_E^{3/2}\mu_z^{5/2}\sqrt{\mu_U}\sigma_1^{3/2}"
    r"\mathcal L^{3/2} \text{ in (51)}",
    plain="With 2 c L for L and mu_z^2 sqrt(mu_U) in (49) the terms of second and third order are "
    "bounded; each bound is attained.",
    constants={
        "two": 2.0,
        "loss_power": 1.0,
        "c_power": 2.0,
        "mu_power": 2.0,
        "mu_U_power": 0.5,
        "cube_power": 1.0,
    },
    negative_control={"c_power": 1.0},
    stronger={
        "two": -1,
        "loss_power": -1,
        "c_power": -1,
        "mu_power": -1,
        "mu_U_power": -1,
        "cube_power": -1,
    },
)


def _remainder(ratio: Fraction) -> Fraction:
    """Return the terms of second and third order over the first ones' unit, d = 1.

    The ratio is eta sqrt(k r) mu^(3/2) sqrt(L): the terms are 3 times it and its square.
    """
    return 3 * ratio + ratio**2


@statement(
    "perfedsi.eq52",
    place="Lemma C.8, (52)",
    latex=r"\eta \le \frac{c'\sigma_r}{\sqrt{kr}\mu^{3/2}},\ \sqrt{\mathcal L} \le c_0\sigma_r"
    r" \;\Rightarrow\; 3\frac{\eta^2k^2\sqrt r}{d^2}\mu^3\mathcal L + \frac{\eta^3k^{5/2}r}{d^3}"
    r"\mu^{9/2}\mathcal L^{3/2} \le 3\frac{\eta k^{3/2}}d\mu^{3/2}\sqrt{\mathcal L}",
    plain="Constants c' and c_0 make the drift's terms of second and third order at most those "
    "of first order.",
    hypotheses=WITHIN,
    negative_control={"allowed": Fraction(1)},
    expected="fails",
)
def eq52(budget, rng, *, printed=True, allowed=Fraction(3, 4)):
    """Compare both sides over the first order's, at d = 1.

    As printed the step has the unit of M*, and must have its inverse: whatever the constants, some
    sigma_r is too large. With sigma_1^2 below it the ratio is at most c' sqrt(c_0) = allowed.
    """
    if printed:
        constants = Fraction(1), Fraction(1, 10**3), Fraction(1, 10**6)
        cases = [
            (*sides_of_52(constant), {"c'": str(constant), "c_0": str(constant), "d": 1})
            for constant in constants
        ]
        yield Cases(cases, quantity="second and third order over first", name="for all sigma_r")
        quarter = Fraction(1, 4)  # c_0, and L with sigma_r = 1: the event has L <= c_0 sigma_r^2
        yield Cases(
            [(Fraction(1, 2), quarter, {"c_0": "1/4", "L": "1/4", "sigma_r": 1})],
            quantity="sqrt(L)",
            name="sqrt(L) <= c_0 sigma_r",
        )
        return
    cases = [
        (_remainder(allowed * step / 8), Fraction(3), {"eta sqrt(k r L) mu^(3/2)": str(step)})
        for step in range(9)
    ]
    yield Cases(cases, quantity="second and third order over first", strength=PROVED)


eq52.corrected(
    "perfedsi.eq52.corrected",
    latex=r"\eta \le \frac{c'\sigma_r}{\sqrt{kr}\mu^{3/2}\sigma_1^2},\ \mathcal L \le"
    r" c_0\sigma_r^2,\ c'\sqrt{c_0} \le \tfrac34 \;\Rightarrow\; 3\frac{\eta^2k^2\sqrt r}{d^2}\mu^3"
    r"\mathcal L + \frac{\eta^3k^{5/2}r}{d^3}\mu^{9/2}\mathcal L^{3/2} \le"
    r" 3\frac{\eta k^{3/2}}d\mu^{3/2}\sqrt{\mathcal L}",
    plain="With sigma_1^2 below the step size, and c' sqrt(c_0) at most 3/4, the terms of second "
    "and third order are at most those of first order.",
    constants={"printed": False},
    hypotheses=SHORT_STEPS,
    negative_control={"allowed": Fraction(1)},
    stronger={"allowed": 1},
)
