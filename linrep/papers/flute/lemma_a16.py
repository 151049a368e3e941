"""Lemma A.16: how the weakest of the leading directions grows in a step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Fact, proved, statement
from linrep.claims.evidence import PROVED
from linrep.claims.quantities import UPPER
from linrep.claims.tables import curve
from linrep.papers.flute._checks import anything, limit_of, thin
from linrep.papers.flute._common import SEARCH_SHAPES, searched_region, singular_values, step
from linrep.papers.flute._hypotheses import GAP

#: Theta_k with two singular values of very different size is where the lemma is hardest.
ALIGNED = ({"n": 3, "d": 3, "k": 2, "aligned": 1},)


def _loss(spectrum, eta, Theta):
    """Return what sigma_k^2(Theta_k) lacks after a step without noise, and what it was.

    Compared with (1 + eta (lambda*_k - sigma_1^2(Theta_res) - sigma_k^2(Theta_k))) times that.
    """
    square = thin(Theta, spectrum) ** 2
    rest = singular_values(Theta[spectrum.k :])[0] ** 2
    gained = thin(step(Theta, spectrum, eta), spectrum) ** 2 - square
    return eta * (spectrum.last - rest - square) * square - gained, square


def _rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


_DRAWN = ("second", "gap", "a", "b1", "b2", "angle", "other", "eta")


def _pairs(shares, ratio):
    """Take a step from points of R_s with k = 2 and sigma_2^2(Theta_k) = ratio Delta.

    Theta_k = U(angle) diag(a, e) and Theta_res = diag(b) V(other)'. `shares` (8, size) say where
    in their intervals the numbers `_DRAWN` are, clipped to [0, 1]. Returns the loss over
    eta Delta sigma_2^2, and what draws the point, by name.
    """
    real, size = np.longdouble, shares.shape[1]
    share = dict(zip(_DRAWN, np.clip(shares, 0.0, 1.0).astype(real), strict=True))
    second = 0.05 + 0.95 * share["second"]
    gap = 0.05 + (second - 0.05) * share["gap"]
    square = ratio * gap
    a = square + (2 - 1e-9 - square) * share["a"]
    room = np.minimum(second - gap / 2, 2 - a)
    b = room * np.stack([share["b1"], share["b2"]])
    eta = gap**2 / 16 * (0.02 + 0.98 * share["eta"])
    t, p = np.pi * share["angle"], np.pi * share["other"]
    U = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    V = np.array([[np.cos(p), -np.sin(p)], [np.sin(p), np.cos(p)]])
    leading = U * np.stack([np.sqrt(a), np.sqrt(square)])
    moment = np.einsum("ijn,jn,ljn->iln", V, b, V)
    moment[0, 0] += a
    moment[1, 1] += square
    grown = np.stack([np.ones(size, real), second])[:, None] * leading
    after = leading + eta / 2 * (grown - np.einsum("ijn,jln->iln", leading, moment))
    det = after[0, 0] * after[1, 1] - after[0, 1] * after[1, 0]
    total = np.sum(after**2, axis=(0, 1))
    largest = (total + np.sqrt(np.maximum(total**2 - 4 * det**2, 0))) / 2
    small = np.minimum(a, square)
    kept = (1 + eta * (second - b.max(axis=0) - small)) * small
    loss = (kept - det**2 / largest) / (eta * gap * small)
    return {
        "loss": loss, "second": second, "gap": gap, "a": a, "e": square, "b1": b[0], "b2": b[1],
        "angle": t, "other": p, "eta": eta,
    }  # fmt: skip


def _point(found, worst):
    """Return plain values that reproduce one of these points."""
    plain = {name: float(values[worst]) for name, values in found.items()}
    leading = _rotation(plain["angle"]) * np.sqrt([plain["a"], plain["e"]])
    rest = np.sqrt([[plain["b1"]], [plain["b2"]]]) * _rotation(plain["other"]).T
    return {
        "lambda*": [1.0, plain["second"], plain["second"] - plain["gap"]], "eta": plain["eta"],
        "Theta_k": leading.tolist(), "Theta_res": rest.tolist(),
    }  # fmt: skip


def _by_decade(budget, rng, loss, floor):
    """Yield the worst loss over decades of sigma_k^2/Delta from the floor on, of pairs."""
    ratios = 10.0 ** np.arange(0, -11, -1.0) if floor == 0.0 else floor * 2.0 ** np.arange(6)
    cases = []
    for ratio in ratios:
        shares = rng.uniform(-0.2, 1.2, (len(_DRAWN), budget(2000, 10000, 100000)))
        for width in (0.1, 0.03, 0.01, 0.003, None):
            found = _pairs(shares, ratio)
            worst = int(np.argmax(found["loss"]))
            if width:  # around the worst, itself included
                around = width * rng.standard_normal(shares.shape)
                around[:, 0] = 0.0
                shares = np.clip(shares[:, [worst]], 0.0, 1.0) + around
        where = {"sigma_k^2/Delta": float(ratio), **_point(found, worst)}
        cases.append((float(found["loss"][worst]), loss + 1e-6, where))
    worst_losses = np.array([case[0] for case in cases])
    yield Cases(
        cases, name="pairs of singular values", quantity="loss/(eta Delta sigma_k^2)",
        strength=PROVED if floor else "",
    )  # fmt: skip
    yield curve(
        panel="worst loss in a step", series="searched", x=ratios,
        y=np.maximum(worst_losses, 1e-6), predicted=max(loss, 1e-6),
        xlabel=r"$\sigma_k^2(\Theta_k)/\Delta$", ylabel=r"loss/$(\eta\Delta\sigma_k^2)$",
    )  # fmt: skip
    above = ratios[worst_losses > loss + 1e-6]
    if above.size:
        yield Fact("largest sigma_k^2/Delta with a larger loss than allowed", float(above.max()))


def _exactly(loss):
    """Compare both sides of (45) in fractions, at a point with sigma_2(Theta_k) = 1e-4.

    sigma_k^2 after the step is at most |Av|^2/|v|^2 for any v, A being Theta_k after it.
    """
    eta, second, small = Fraction(3, 100), Fraction(7, 10), Fraction(1, 10**4)
    r = Fraction(-36, 100), Fraction(-47, 100)
    large = Fraction(6, 5)
    Theta = [
        [Fraction(4, 5) * large, Fraction(-3, 5) * small],
        [Fraction(3, 5) * large, Fraction(4, 5) * small],
    ]
    moment = [[r[i] * r[j] for j in range(2)] for i in range(2)]
    moment[0][0] += large**2
    moment[1][1] += small**2
    after = [[Fraction(0)] * 2 for _ in range(2)]
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        cubic = sum(Theta[i][p] * moment[p][j] for p in (0, 1))
        after[i][j] = Theta[i][j] + eta / 2 * ((1, second)[i] * Theta[i][j] - cubic)
    # Near the right singular vector: the first entry at which the first column hides the second.
    columns = list(zip(*after, strict=True))
    inner = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in columns] for p in columns]
    v = (-inner[0][1] / inner[0][0]).limit_denominator(10**6), Fraction(1)
    moved = [sum(row[j] * v[j] for j in (0, 1)) for row in after]
    most = (moved[0] ** 2 + moved[1] ** 2) / (v[0] ** 2 + 1)
    rest = r[0] ** 2 + r[1] ** 2
    claimed = 1 + eta * (second - rest - small**2) - Fraction(loss) * eta * second
    where = {
        "lambda*": [1.0, 0.7, 0.0], "eta": 0.03, "sigma_1(Theta_k)": 1.2, "sigma_2(Theta_k)": 1e-4,
        "left singular vectors": [[0.8, -0.6], [0.6, 0.8]], "Theta_res": [-0.36, -0.47],
    }  # fmt: skip
    return Cases(
        [(claimed, most / small**2, where)], name="(45), second line, in fractions",
        quantity="growth of sigma_k^2(Theta_k) that is claimed", strength=PROVED,
        predicted_is=UPPER,
    )  # fmt: skip


_A16 = (
    r"\eta \le \tfrac{\Delta^2}{16\lambda_1^{*3}},\ \sigma_1(\Theta) \le \sqrt{2\lambda_1^*}%s:\ "
    r"\sigma_k^2(\Theta_k^+) \ge \big(1 + \eta(\lambda_k^* - \sigma_1^2(\Theta_{res}) -"
    r" \sigma_k^2(\Theta_k)) - \tfrac{\eta\Delta}4\big)\sigma_k^2(\Theta_k) -"
    r" 4\sqrt{\lambda_1^*}\sigma_1(R_k)"
)


@statement(
    "flute.lemmaA16",
    place="Lemma A.16, (45), (46)",
    hypotheses=(GAP,),
    latex=_A16 % "",
    plain="In a step the weakest leading direction grows almost as if it were alone.",
    negative_control={"loss": -0.25},
)
def lemma_A16(budget, rng, *, loss=0.25, floor=0.0):
    """Search with sigma_k(Theta_k) down to 0, or the floor, by pairs of values and otherwise.

    The noise takes at most sigma_1(R_k) from sigma_k, so that (46) follows from
    sigma_k(tilde Theta) <= 2 sqrt(lambda*_1); tilde Theta^tau there is that of tau + 1.
    """

    def first(spectrum, eta, Theta):
        return _loss(spectrum, eta, Theta)[0], eta**2 * spectrum.first**3

    def second(spectrum, eta, Theta):
        lost, square = _loss(spectrum, eta, Theta)
        return lost / (eta * spectrum.gap * square), loss + 0 * square

    def largest(spectrum, eta, Theta):
        after = step(Theta, spectrum, eta)[: spectrum.k]
        return singular_values(after)[0], 2 * np.sqrt(spectrum.first)

    least = (lambda spectrum: floor * spectrum.gap) if floor else anything
    if floor == 0.0:
        yield _exactly(loss)
    yield from _by_decade(budget, rng, loss, floor)
    for lhs_rhs, name, smallest in (
        (second, "(45), second line, searched", least),
        (first, "(45), first line, searched", anything),
        (largest, "(46): sigma_1 at most 2 sqrt(lambda*_1)", anything),
    ):
        found = searched_region(
            lhs_rhs, budget, rng, limit=limit_of("lemma_A16"), name=name, smallest=smallest,
            shapes=budget((SEARCH_SHAPES[0], *ALIGNED), (*SEARCH_SHAPES[:5], *ALIGNED)),
            rest=lambda spectrum: 2.0 * spectrum.first,
        )  # fmt: skip
        # The second line is proved where sigma_k^2 >= Delta/4, the others everywhere.
        yield proved(found) if floor or lhs_rhs is not second else found


lemma_A16.corrected(
    "flute.lemmaA16.corrected",
    latex=_A16 % r",\ \sigma_k^2(\Theta_k) \ge \tfrac\Delta4",
    plain="If sigma_k^2(Theta_k) >= Delta/4, the weakest leading direction grows as if it were "
    "alone.",
    constants={"floor": 0.25},
    negative_control={"loss": -0.25},
)
