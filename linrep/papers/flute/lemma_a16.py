"""Lemma A.16: how the weakest of the leading directions grows in a step."""

import numpy as np

from linrep.claims import Cases, proved, statement
from linrep.claims.evidence import FAILS, PROVED, UPPER
from linrep.claims.laws import Region, Root, at_most, lines
from linrep.claims.tables import curve
from linrep.papers.flute import model
from linrep.papers.flute.counterexamples import lemmaa16 as printed
from linrep.papers.flute.counterexamples import lemmaa16_norm as second_summand
from linrep.papers.flute.model import GAP, norm_of, rest_of, rotation, searched_region, step, thin

#: Theta_k with two singular values of very different size is where the lemma is hardest.
ALIGNED = ({"n": 3, "d": 3, "k": 2, "aligned": 1},)
#: What draws a point of :func:`pairs`.
DRAWN = ("second", "gap", "a", "b1", "b2", "angle", "other", "eta")


@lines(
    "flute.lemmaA16.corrected", Region(root2=Root(2), s=lambda root2: (0, root2)), steps=["loss"]
)
def loss(s, root2):
    """What sigma_k = s loses is at most eta^2, in units of lambda*_1."""
    return at_most(root2 * s - s**2 / 4 - s**6 / 4, 1)


def lost(spectrum, eta, Theta):
    """Return what sigma_k^2(Theta_k) lacks after a step without noise, and what it was.

    Compared with (1 + eta (lambda*_k - sigma_1^2(Theta_res) - sigma_k^2(Theta_k))) times that.
    """
    square, rest = thin(Theta, spectrum) ** 2, rest_of(Theta, spectrum) ** 2
    gained = thin(step(Theta, spectrum, eta), spectrum) ** 2 - square
    return eta * (spectrum.last - rest - square) * square - gained, square


def pairs(shares, ratio, limit):
    """Take a step from points of R_s with k = 2 and sigma_2^2(Theta_k) = ratio Delta.

    Theta_k = U(angle) diag(a, e) and Theta_res = diag(b) V(other)'. `shares` (8, size) say where
    in their intervals the numbers `DRAWN` are, clipped to [0, 1]. Returns the loss over
    eta Delta sigma_2^2, and what draws the point, by name.
    """
    real, size = np.longdouble, shares.shape[1]
    share = dict(zip(DRAWN, np.clip(shares, 0.0, 1.0).astype(real), strict=True))
    second = 0.05 + 0.95 * share["second"]
    gap = 0.05 + (second - 0.05) * share["gap"]
    e = ratio * gap
    a = e + (2 - 1e-9 - e) * share["a"]
    b = np.minimum(second - gap / 2, 2 - a) * np.stack([share["b1"], share["b2"]])
    eta = limit * gap**2 / 16 * (0.02 + 0.98 * share["eta"])
    angle, other = np.pi * share["angle"], np.pi * share["other"]
    U, V = rotation(angle), rotation(other)
    leading = U * np.stack([np.sqrt(a), np.sqrt(e)])
    moment = np.einsum("ijn,jn,ljn->iln", V, b, V)
    moment[0, 0] += a
    moment[1, 1] += e
    grown = np.stack([np.ones(size, real), second])[:, None] * leading
    after = leading + eta / 2 * (grown - np.einsum("ijn,jln->iln", leading, moment))
    det = after[0, 0] * after[1, 1] - after[0, 1] * after[1, 0]
    total = np.sum(after**2, axis=(0, 1))
    largest = (total + np.sqrt(np.maximum(total**2 - 4 * det**2, 0))) / 2
    small = np.minimum(a, e)
    kept = (1 + eta * (second - b.max(axis=0) - small)) * small
    return {
        "loss": (kept - det**2 / largest) / (eta * gap * small), "second": second, "gap": gap,
        "a": a, "e": e, "b1": b[0], "b2": b[1], "angle": angle, "other": other, "eta": eta,
    }  # fmt: skip


def matrices(at):
    """Return Theta_k and Theta_res of a point of :func:`pairs`."""
    leading = rotation(at["angle"]) * np.sqrt([at["a"], at["e"]])
    return leading, np.sqrt([[at["b1"]], [at["b2"]]]) * rotation(at["other"]).T


def by_decade(budget, rng, loss, floor, limit):
    """Yield the worst loss over decades of sigma_k^2/Delta from the floor on, of pairs."""
    ratios = 10.0 ** np.arange(0, -11, -1.0) if floor == 0.0 else floor * 2.0 ** np.arange(6)
    cases, most = [], []
    for ratio in ratios:
        shares = rng.uniform(-0.2, 1.2, (len(DRAWN), budget(2000, 10000, 100000)))
        for width in (0.1, 0.03, 0.01, 0.003, None):
            found = pairs(shares, ratio, limit)
            worst = int(np.argmax(found["loss"]))
            if width:  # around the worst, itself included
                around = width * rng.standard_normal(shares.shape)
                around[:, 0] = 0.0
                shares = np.clip(shares[:, [worst]], 0.0, 1.0) + around
        at = {name: float(values[worst]) for name, values in found.items()}
        leading, rest = matrices(at)
        where = {
            "sigma_k^2/Delta": float(ratio),
            "lambda*": [1.0, at["second"], at["second"] - at["gap"]], "eta": at["eta"],
            "Theta_k": leading.tolist(), "Theta_res": rest.tolist(),
        }  # fmt: skip
        cases.append((at["loss"], loss + 1e-6, where))
        most.append(max(at["loss"], 1e-6))
    quantity, strength = "loss/(eta Delta sigma_k^2)", PROVED if floor else ""
    yield Cases(cases, name="pairs of singular values", quantity=quantity, strength=strength)
    yield curve(
        panel="worst loss in a step", series="searched", x=ratios, y=most,
        predicted=max(loss, 1e-6), xlabel=r"$\sigma_k^2(\Theta_k)/\Delta$",
        ylabel=r"loss/$(\eta\Delta\sigma_k^2)$",
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
def lemma_A16(budget, rng, *, loss=0.25, floor=0.0, limit=1.0):
    """Search with sigma_k(Theta_k) down to 0, or the floor, by pairs of values and otherwise.

    The noise takes at most sigma_1(R_k) from sigma_k, so that (46) follows from
    sigma_k(tilde Theta) <= 2 sqrt(lambda*_1); tilde Theta^tau there is that of tau + 1.
    """

    def second(spectrum, eta, Theta):
        less, square = lost(spectrum, eta, Theta)
        return less / (eta * spectrum.gap * square), loss + 0 * square

    def first(spectrum, eta, Theta):
        return lost(spectrum, eta, Theta)[0], eta**2 * spectrum.first**3

    def largest(spectrum, eta, Theta):
        return norm_of(step(Theta, spectrum, eta)[: spectrum.k]), 2 * np.sqrt(spectrum.first)

    if floor == 0.0:
        yield Cases(
            [(*printed.sides(loss), printed.INSTANCE)], name="(45), second line, in fractions",
            quantity="growth of sigma_k^2(Theta_k) that is claimed", predicted_is=UPPER,
        )  # fmt: skip
    yield from by_decade(budget, rng, loss, floor, limit)
    least = (lambda spectrum: floor * spectrum.gap) if floor else model.anything
    shapes = budget((model.SEARCH_SHAPES[0], *ALIGNED), (*model.SEARCH_SHAPES[:5], *ALIGNED))
    for sides, name, smallest in (
        (second, "(45), second line, searched", least),
        (first, "(45), first line, searched", model.anything),
        (largest, "(46): sigma_1 at most 2 sqrt(lambda*_1)", model.anything),
    ):
        found = searched_region(
            sides, budget, rng, name, "lemma_A16", limit, shapes=shapes, smallest=smallest,
            rest=model.everything,
        )  # fmt: skip
        # The second line is proved where sigma_k^2 >= Delta/4, the others everywhere.
        yield proved(found) if floor or sides is not second else found


lemma_A16.corrected(
    "flute.lemmaA16.corrected",
    latex=_A16 % r",\ \sigma_k^2(\Theta_k) \ge \tfrac\Delta4",
    plain="If sigma_k^2(Theta_k) >= Delta/4, the weakest leading direction grows as if it were "
    "alone.",
    constants={"floor": 0.25},
    stronger={"loss": -1, "floor": -1, "limit": 1},
    negative_control={"loss": -0.25},
)


@statement(
    "flute.lemmaA16.norm",
    place="Lemma A.16, bound on sigma_1 in its proof",
    latex=r"\eta \le \tfrac{\Delta^2}{16\lambda_1^{*3}},\ \sigma_1(\Theta) \le \sqrt{2\lambda_1^*}"
    r" \Rightarrow \sigma_1\big(\tfrac\eta2\tilde\Lambda_k\Theta_k\big) \le"
    r" \tfrac1{32}\sqrt{\lambda_1^*}",
    plain="The second summand of the leading rows after a step has a norm of at most "
    "sqrt(lambda*_1)/32.",
    hypotheses=(GAP,),
    negative_control={"square": 0.5},
    expected=FAILS,
)
def summand(budget, rng, *, square=1):
    """Take the largest case exactly, and search; compared are 32^2 times the squares."""
    where = {"lambda*": [1, 0], "eta": "1/16", "square of sigma_1(Theta_k)": 2}
    yield Cases(
        [(*second_summand.sides(square), where)], name="k = 1, at both limits", strength=PROVED,
        quantity="square of the norm",
    )  # fmt: skip

    def sides(spectrum, eta, Theta):
        leading = spectrum.eigenvalues[: spectrum.k, None].astype(Theta.dtype)
        moved = eta / 2 * leading * Theta[: spectrum.k]
        return norm_of(moved) ** 2 * 32**2, float(square) * spectrum.first

    yield proved(searched_region(
        sides, budget, rng, "search", "lemma_A16", shapes=model.SEARCH_SHAPES[: budget(2, 4)],
        smallest=model.anything, rest=model.everything,
    ))  # fmt: skip


summand.corrected(
    "flute.lemmaA16.norm.corrected",
    latex=r"\sigma_1\big(\tfrac\eta2\tilde\Lambda_k\Theta_k\big) \le"
    r" \tfrac{\sqrt2}{32}\sqrt{\lambda_1^*}",
    plain="The second summand of the leading rows after a step has a norm of at most sqrt(2 "
    "lambda*_1)/32.",
    constants={"square": 2},
    negative_control={"square": 1},
    stronger={"square": -1},
)
