"""(44) to (52): the terms of a local step's drift, in the proof of Lemma C.8."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.linalg import norm

from linrep.claims import Cases, Identity, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Region, at_most, lines, measured
from linrep.claims.measurements import Array, relative
from linrep.papers.perfedsi.counterexamples.eq44_50 import sides as sides_of_44
from linrep.papers.perfedsi.counterexamples.eq47_51 import sides as sides_of_49
from linrep.papers.perfedsi.counterexamples.eq52 import sides as sides_of_52
from linrep.papers.perfedsi.model import SHORT_STEPS, WITHIN, drawn, rounded, start_of
from linrep.theory import perfedsi as theory

# Iterates of a round at which the terms of a step's drift, (44) to (51), are evaluated.

OTHERS = 1e-9  # share of the clients that see other directions than the first


class Iterate(NamedTuple):
    """Factors that all clients have, in a round that started with a loss L."""

    star: Array  # M*
    U: Array
    V: Array
    Z: Array  # a row for each kind of client
    shares: Array  # of the clients, by kind
    loss: float  # L
    c: float
    mu_z: float
    mu_U: float
    mu_E: float

    @property
    def sizes(self) -> tuple[int, int, int]:
        """d, k and r."""
        return len(self.U), *self.V.shape

    @property
    def mu(self) -> float:
        """The largest of the incoherences."""
        return max(self.mu_z, self.mu_U, self.mu_E)

    @property
    def clients(self) -> Iterator[tuple[float, Array, Array, Array]]:
        """Share, z, E z and V'z of each kind."""
        E = self.U @ self.V.T - self.star
        for share, z in zip(self.shares, self.Z, strict=True):
            yield float(share), z, E @ z, self.V.T @ z

    def plain(self) -> dict[str, float]:
        """Return its numbers."""
        d, k, r = self.sizes
        return {"c": self.c, "k": k, "d": d, "r": r, "mu_z": self.mu_z, "mu_U": self.mu_U}


def drawn_iterates(budget, rng) -> Iterator[Iterate]:
    """Yield random iterates of the server, with the least constants."""
    for _ in range(budget(60, 1000)):
        p, d = int(rng.integers(1, 5)), int(rng.choice([2, 4, 8]))
        state = drawn(
            rng, n=p + int(rng.integers(0, 4)), d=d, p=p, k=int(rng.integers(1, min(d, p) + 1)),
            error=10.0 ** rng.uniform(-3, 0), tilt=2.0 ** rng.uniform(-2, 2),
        )  # fmt: skip
        truth, limits = state.truth, start_of(state).limits()
        shares, mu_z = np.full(truth.n, 1.0 / truth.n), theory.scaling(truth.Z).mu_z
        yield Iterate(
            truth.M, state.U, state.V, truth.Z, shares, state.loss, limits.c, mu_z, *limits[1:]
        )


def after_a_step(c, k, mu_z, side) -> Iterate:
    """Return an iterate after a step that makes the loss c times larger, d = r = sigma_1 = 1.

    U, V or both have the norm c then. z is the first direction, of squared norm mu_z k, but for
    very few clients, which see the k - 1 others and no error.
    """
    square = mu_z * k
    if side == "both":  # of one sign before, of the other after
        before = after = np.sqrt(1.0 + (c**2 - 1.0) / np.sqrt(c))
        u = v = c
    else:
        before, after = (c, 1.001 / c) if side == "U" else (1.001 / c, c)
        step = (1.0 + np.sqrt(c)) / (before**2 + after**2) * (before * after - 1.0)
        u, v = before - step * after, after - step * before
    start, end = before * after - 1.0, u * v - 1.0
    others = OTHERS if k > 1 else 0.0
    loss = 0.5 * square * start**2 * (1.0 - others)
    needs = max(before, after, abs(u), abs(v), 0.5 * square * end**2 / loss, 1.0)
    shares = np.full(k, others / max(1, k - 1))
    shares[0] = 1.0 - others
    return Iterate(
        np.eye(1, k), np.array([[u]]), v * np.eye(k, 1), np.sqrt(square) * np.eye(k), shares,
        loss, needs, mu_z, u**2, 1.0,
    )  # fmt: skip


def sharp_iterates() -> Iterator[Iterate]:
    """Yield iterates at which the bounds are attained, one or the other of them."""
    for side, c, k in product(("U", "V", "both"), (1.1, 2.0, 4.0, 16.0), (1, 4, 16, 64)):
        for mu_z in (1.0, c**2, 64.0 * c**2):
            yield after_a_step(c, k, mu_z, side)


def compared(displays, budget, rng, **powers):
    """Yield left over right by display: at random iterates, and where it is sharp."""

    def found():
        for at in [*drawn_iterates(budget, rng), *sharp_iterates()]:
            for name, (left, right) in displays(at, **powers).items():
                yield name, at_most(rounded(left / right), 1.0), at.plain()

    yield from measured(found(), quantity="lhs/rhs", strength=PROVED).values()


# Terms of first order.


def first_order(at, *, two, loss_power, first_power, c_power, last_power, k_power, mu_power):
    """Return by display d times the norms of means over items and clients, and their bounds.

    Without eta; of the display after (47) the largest |x_i u_i'v| of a client over the root of its
    loss. Two c^loss_power L is under the root of the first three bounds.
    """
    U, sums, largest = at.U, [np.zeros(at.U.shape) for _ in range(3)], 0.0
    for share, z, x, v in at.clients:
        sums[0] += share * (z @ z) * np.outer(at.star @ z, U.T @ x)
        # U H' z z' V has U'x in the place of the item's row.
        sums[1] += share * (z @ z) * np.outer(U @ (U.T @ x), v)
        sums[2] += share * np.outer(x, v) * (v @ v)
        if x @ x > 0.0:
            largest = max(largest, float(np.max(np.abs(x * (U @ v))) / np.sqrt(0.5 * x @ x)))
    d, k, r = at.sizes
    top = float(norm(at.star, 2))
    unit = k**k_power * top**1.5 * np.sqrt(two * at.c**loss_power * at.loss)
    last = top * np.sqrt(two * k * r * at.mu_E * at.mu_U * at.mu_z) * at.c**last_power / d
    return {
        "(44)": (norm(sums[0]), at.c**first_power * at.mu_z**mu_power * unit),
        "(45)": (norm(sums[1]), at.c**c_power * at.mu**mu_power * unit),
        "(46)": (norm(sums[2]), at.c**c_power * at.mu**mu_power * unit),
        "between (47) and (48)": (largest, last),
    }


def in_fractions():
    """Yield squares at V = V*, U = c U* with c a little above 1, c_z = mu_z = sigma_1 = 1."""
    e, d = Fraction(1, 1000), 16
    c = 1 + e  # of U, whose mu is its square; and mu_E = 1
    at = {"d": d, "M": 1, "k": 1, "r": 1, "c": str(c), "mu": str(c**2)}
    for name, (left, right) in {
        "(44)": sides_of_44(),
        "(45)": ((c**2 * e) ** 2, c**12 * e**2 / 2),
        "(46)": (e**2, c**12 * e**2 / 2),
        "between (47) and (48)": ((c * e) ** 2 / d**2, c**6 * e**2 / 2 / d**2),
    }.items():
        yield f"{name} in fractions", at_most(left, right), at


@statement(
    "perfedsi.eq44_50",
    place="Lemma C.8, (44)-(46) and the display after (47)",
    latex=r"\Big\|\frac\eta M\sum_m E_t[M_*z_mz_m^\top\hat H]\Big\|_F \le \frac{\eta k^{3/2}}d"
    r" c\mu_z^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L},\quad |(e_i^\top E z_m)(e_i^\top UV^\top z_m)|"
    r" \le c^2\sigma_1\frac{\sqrt{kr\mu_E\mu_U\mu_z}}d\sqrt{\mathcal L_m}",
    plain="The terms of a local step's drift are bounded as in the proof of Lemma C.8.",
    hypotheses=WITHIN,
    negative_control={"two": 0.5},
)
def eq44_50(
    budget, rng, *, two=2.0, loss_power=1.0, first_power=1.0, c_power=3.0, last_power=1.0,
    k_power=1.5, mu_power=1.5, printed=True,
):  # fmt: skip
    """Compare in fractions, or, as corrected, at iterates of the server, and after a step.

    ||E z||^2 is 2 L_m, L_m at most c L. Powers are of c in L_m <= c L, in (44), in (45) and (46)
    and in the last display, of k and mu.
    """
    if printed:
        yield from measured(in_fractions(), quantity="square of the term").values()
        return
    yield from compared(
        first_order, budget, rng, two=two, loss_power=loss_power, first_power=first_power,
        c_power=c_power, last_power=last_power, k_power=k_power, mu_power=mu_power,
    )  # fmt: skip


eq44_50.corrected(
    "perfedsi.eq44_50.corrected",
    latex=r"\Big\|\frac\eta M\sum_m E_t[M_*z_mz_m^\top\hat H]\Big\|_F \le \frac{\eta k^{3/2}}d"
    r" c\mu_z^{3/2}\sigma_1^{3/2}\sqrt{2c\mathcal L},\quad |(e_i^\top E z_m)(e_i^\top UV^\top z_m)|"
    r" \le c\sigma_1\frac{\sqrt{2kr\mu_E\mu_U\mu_z}}d\sqrt{\mathcal L_m}",
    plain="With sqrt(2 c L) for sqrt(L), as ||E z||^2 is 2 L_m and L_m at most c L, the terms of "
    "a local step's drift are bounded as in the proof of Lemma C.8; both bounds are attained.",
    constants={"printed": False},
    negative_control={"two": 0.5},
    stronger=dict.fromkeys(
        ("two", "loss_power", "first_power", "c_power", "last_power", "k_power", "mu_power"), -1
    ),
)


# Terms of higher order.


def of_one_item(iterates):
    """Yield (47) and (50), the second with e_i in its last line, relative to their terms."""
    for at in iterates:
        d, top = len(at.U), norm(at.U, 2)
        for _, z, x, v in at.clients:
            inner, square, means = at.U @ v, z @ z, np.zeros((2, *at.U.shape))
            for item, e in enumerate(np.eye(d)):
                G, H = np.outer(e * x[item], v), x[item] * np.outer(z, at.U[item])
                means += [G @ H.T @ np.outer(z, z) @ end / d for end in (at.V, H)]
            right = (
                square / d * np.outer(x * inner * x, v),
                square**2 / d * (x**3 * inner)[:, None] * at.U,
            )
            for place, name in enumerate(("(47)", "(50)")):
                size = square ** (1 + place) * (x @ x) ** (1 + place / 2) * np.abs(inner).max()
                floor = size * top * 1e-3 + 1e-300
                deviation = relative(means[place], right[place], floor)
                yield name, (deviation, at.plain())


def higher_order(at, *, two, loss_power, c_power, mu_power, mu_U_power, cube_power):
    """Return by display d times the norms of means over items and clients, and bounds.

    Without powers of eta; after (50) the largest over items and clients of |x_i^3 u_i'v| over the
    3/2-th power of the client's loss. Two and c^loss_power stand before L, c_power is that of
    norms. In (49) mu_z has mu_power and mu_U mu_U_power; cube_power is that of c after (50).
    """
    U, sums, largest = at.U, [np.zeros(at.U.shape) for _ in range(4)], 0.0
    for share, z, x, v in at.clients:
        square, inner = share * (z @ z), U @ v
        sums[0] += square * np.outer(x**2 * inner, v)
        sums[1] += square * (v @ v) * (x**2)[:, None] * U
        sums[2] += square * (z @ z) * U @ (U.T @ ((x**2)[:, None] * U))
        sums[3] += square * (z @ z) * (x**3 * inner)[:, None] * U
        if x @ x > 0.0:
            largest = max(largest, float(np.max(np.abs(x**3 * inner)) / (0.5 * x @ x) ** 1.5))
    d, k, r = at.sizes
    top = float(norm(at.star, 2))
    loss = two * at.c**loss_power * at.loss
    second = at.c**c_power * k**2 * top**1.5 * np.sqrt(r * at.mu_E) / d * loss
    usual = second * at.mu_z**2 * np.sqrt(at.mu_U)
    inside = at.c**cube_power * two**1.5 * at.mu_E**1.5 * top / d**2
    inside *= np.sqrt(k * r * at.mu_z * at.mu_U)
    last = at.c**c_power * loss**1.5 * k**2.5 * r * at.mu_E**1.5 * at.mu_z**2.5
    last *= np.sqrt(at.mu_U) * top**1.5 / d**2
    return {
        "(48)": (norm(sums[0]), usual),
        "after (48)": (norm(sums[1]), usual),
        "(49)": (norm(sums[2]), second * at.mu_z**mu_power * at.mu_U**mu_U_power),
        "after (50)": (largest, inside),
        "(51)": (norm(sums[3]), last),
    }


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
    budget, rng, *, two=2.0, loss_power=1.0, c_power=2.0, mu_power=2.0, mu_U_power=0.5,
    cube_power=1.0, printed=True,
):  # fmt: skip
    """Compare (49) in fractions, or, as corrected, all at iterates of the server, and after a step.

    (47) and (50) are identities. The printed c^3 is the norms' and the losses' together.
    """
    if printed:
        at = {"d": 16, "k": 1, "r": 1, "M": 1, "c": "1001/1000", "mu_z": 4, "mu_U": "c^2"}
        case = (*sides_of_49(), at)
        yield Cases([case], quantity="(49)'s left side", name="(49) in fractions")
        return
    found: dict[str, list] = {"(47)": [], "(50)": []}
    for name, deviation in of_one_item(drawn_iterates(budget, rng)):
        found[name].append(deviation)
    for name, deviations in found.items():
        yield Identity(deviations, 1e-9, name=name, strength=PROVED)
    yield from compared(
        higher_order, budget, rng, two=two, loss_power=loss_power, c_power=c_power,
        mu_power=mu_power, mu_U_power=mu_U_power, cube_power=cube_power,
    )  # fmt: skip


eq47_51.corrected(
    "perfedsi.eq47_51.corrected",
    latex=r"\frac{2\eta^2k^2}{d^2}c^3\sigma_1^{3/2}\mu_z^2\sqrt{r\mu_E\mu_U}\,\mathcal L"
    r" \text{ in (48), after it and in (49)},\quad |(e_i^\top Ez_m)^3(z_m^\top VU^\top e_i)| \le"
    r" \frac{2^{3/2}c}{d^2}\mu_E^{3/2}\sqrt{kr\mu_z\mu_U}\sigma_1\mathcal L_m^{3/2},\quad"
    r" \frac{\eta^3k^{5/2}r}{d^3}(2c)^{3/2}c^2\mu_E^{3/2}\mu_z^{5/2}\sqrt{\mu_U}\sigma_1^{3/2}"
    r"\mathcal L^{3/2} \text{ in (51)}",
    plain="With 2 c L for L and mu_z^2 sqrt(mu_U) in (49) the terms of second and third order are "
    "bounded; each bound is attained.",
    constants={"printed": False},
    negative_control={"c_power": 1.0},
    stronger=dict.fromkeys(
        ("two", "loss_power", "c_power", "mu_power", "mu_U_power", "cube_power"), -1
    ),
)


@lines("perfedsi.eq52.corrected", Region(x=lambda *, allowed=Fraction(3, 4): (0, allowed)))
def second_and_third_order(x):
    """3 x and x^2 over the first order, at d = 1, where x = eta sqrt(k r) mu^(3/2) sqrt(L)."""
    return {"(52)": at_most(3 * x + x**2, 3)}


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
    if not printed:
        yield second_and_third_order.measure(allowed=allowed)
        return
    cases = [
        (*sides_of_52(constant), {"c'": str(constant), "c_0": str(constant), "d": 1})
        for constant in (Fraction(1), Fraction(1, 10**3), Fraction(1, 10**6))
    ]
    yield Cases(cases, quantity="second and third order over first", name="for all sigma_r")
    # With L <= c_0 sigma_r^2, which the event has; c_0 and L are 1/4, and sigma_r is 1.
    case = (Fraction(1, 2), Fraction(1, 4), {"c_0": "1/4", "L": "1/4", "sigma_r": 1})
    yield Cases([case], quantity="sqrt(L)", name="sqrt(L) <= c_0 sigma_r")


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
