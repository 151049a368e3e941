"""Lemma C.5: the gradient against the loss, where factors are aligned with the truth."""

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np

from linrep.claims import Cases, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines, measured
from linrep.papers.perfedsi import model
from linrep.papers.perfedsi.counterexamples.lemmac5 import sides
from linrep.theory import perfedsi as theory


def flattest(truth, U, V) -> float:
    """Return the least ||grad L||^2/L of small errors at a factorization of M*.

    Errors there are J w, J the derivative of U V' S^(1/2); the gradient is J' applied to them and L
    half their square, so that it is twice the least nonzero squared singular value of J.
    """
    root = np.linalg.cholesky(truth.Z.T @ truth.Z / truth.n)
    in_U = np.kron(np.eye(truth.d), root.T @ V)
    in_V = np.einsum("ic,qp->ipqc", U, root).reshape(truth.d * truth.p, -1)
    values = np.linalg.svd(np.hstack([in_U, in_V]), compute_uv=False)
    rank = truth.k * (truth.d + truth.p - truth.k)
    return 2.0 * float(values[rank - 1]) ** 2


def unbalanced_truths(rng):
    """Yield c, c_z, kappa and the flattest small errors, U = c sqrt(sigma_1) times a frame.

    V is as small as the product allows then, and Z weakest along V's weakest direction.
    """
    for c, (c_z, kappa) in product((1, 3, 30), ((1, 1), (4, 2), (16, 100))):
        truth = model.random_truth((kappa, 1.0), float(c_z), rng, aligned=True)
        least = flattest(truth, *model.split(truth, c * np.sqrt(kappa)))
        yield least, {"c": c, "c_z": c_z, "kappa": kappa}


#: Readings of the region: the power of gamma that bounds it, as (21) has sigma_min^2 >= sigma_r/c,
#: and the power of c_z in gamma.
REGIONS = {
    "orthonormal U*, V*": (1, 2),
    "scaled U*, V*": (1, 2),
    "gamma with c_z^3": (1, 3),
    "root of gamma": (Fraction(1, 2), 2),
    "root of gamma with c_z^3": (Fraction(1, 2), 3),
}
ELSEWHERE = {
    "gamma with c_z^3": "(56)",
    "root of gamma": "(21)",
    "root of gamma with c_z^3": "(21) and (56)",
}


@statement(
    "perfedsi.lemmaC5",
    place="Lemma C.5, (16)-(21)",
    hypotheses=model.COMPLETION,
    latex=r"\sigma_{\min}(U_*^\top U), \sigma_{\min}(V_*^\top V) \ge \gamma ="
    r" \frac{\sigma_r}{c c_z^2} \;\Rightarrow\; \|\nabla\mathcal L\|_F^2 \ge \gamma\mathcal L",
    plain="Where the factors' alignment with the truth is at least gamma, the loss satisfies a "
    "PL inequality with that gamma.",
    negative_control={"factor": 2},
    holds_with={"factor": Fraction(1, 5)},
)
def lemmaC5(budget, rng, *, factor=1):
    """Compare both sides on the region's edge, singular values being 1; the factor is gamma's.

    V is gamma V*, or the root of gamma times V*, or slightly more, and U the other way round with
    an error orthogonal to U*: norms are at most c. Z'Z is M/c_z times the identity; the root needs
    c_z > 2.
    """

    def in_regions():
        for name, (power, c_z_power) in REGIONS.items():
            c, c_z = (10, 1) if power == 1 else (100, 4)
            gamma = Fraction(1, c * c_z**c_z_power)
            edge = gamma if power == 1 else Fraction(1, isqrt(gamma.denominator))
            promised, actual = sides(edge * Fraction(1001, 1000), gamma, c_z)
            at = {"d": 16, "k": 1, "r": 1, "gamma": str(gamma), "c": str(c), "c_z": c_z}
            yield name, at_most(factor * promised / actual, 1), at

    quantity = "promised square of the gradient, gamma L, over the actual one"
    parts = list(measured(in_regions(), quantity=quantity).values())
    name = "region, in fractions"
    yield Readings(parts, name=name, phrase="gamma", printed_elsewhere=ELSEWHERE)


# Near the truth.


@lines(
    "perfedsi.lemmaC5.corrected",
    Region(
        c_z=(1, None),
        sigma=(Open(0), None),
        loss=lambda c_z, sigma, *, near=32: (0, sigma**2 / (near * c_z)),
        square=lambda c_z, loss: (0, 2 * c_z * loss),  # of the norm of E
    ),
    steps=["|E| <= sigma_r/4"],
)
def error(square, sigma):
    """Its square is at most 2 c_z L."""
    return {"|E| <= sigma_r/4": at_most(square, (sigma / 4) ** 2)}


def flat(c, c_z):
    """Return numbers for `read` at d = p = 2: U of norm c, V* where Z is weakest."""
    Z = np.diag(np.sqrt([2.0 / c_z, 2.0 * c_z]))
    e_1, e_2 = np.eye(2)
    return np.concatenate([[3.0], Z.ravel(), e_1, e_1, e_2, np.zeros(2), [c]])


def corners(bound, near, near_power):
    """Yield the bound over ||grad L||^2/L where it is sharp, in closed form, d = 2 and r = 1 or 2.

    First U at an angle to U* with the sine 1/4, V = cos/c, L = 1/32. Then small errors with U = c
    times a frame and V as small as the product allows. At last U = V = 0, where nothing moves.
    """
    for c in (1.0, 2.0**40):
        if near / 32.0 <= 1.0:
            sine, cosine = 0.25, np.sqrt(15.0) / 4.0
            slope = (sine * cosine / c) ** 2  # in V nothing: U'(U cos - U*) = 0
            at = theory.Setting(d=2, p=1, k=1, c=c)
            yield bound(at) * sine**2 / 2.0 / slope, 1.0, {"c": c, "sine": sine}
    for c, condition, c_z in product((1.0, 2.0**40), (1.0, 2.0**80), (1.0, 2.0**80)):
        at = theory.Setting(d=2, p=2, k=2, smallest=1.0 / condition, c=c, c_z=c_z)
        slope = 2.0 / (c_z * c**2 * condition**2)
        yield model.rounded(bound(at) / slope), 1.0, {"c": c, "condition": condition, "c_z": c_z}
    for c_z in (1.0, 2.0**9, 2.0**41, 2.0**81):  # L = 1/(2 c_z)
        allowed = near * c_z**near_power <= 2.0 * c_z
        yield np.inf if allowed else 0.0, 1.0, {"U": 0, "V": 0, "c_z": c_z}
    # At a loss that the region just allows, c below 1, r = 1.
    c_z = 6352 / 597
    U = np.array([[803 / 1178], [-848 / 1159]])
    V = np.array([[-898 / 1009], [-347 / 761]])
    truth = np.outer([1524 / 1865, -1306 / 1489], [-23 / 31, -938 / 1507])
    error = (U @ V.T - truth) @ np.diag([c_z, 1.0 / c_z])
    loss = 0.5 * np.sum(error * (U @ V.T - truth))
    slope = np.sum((error @ V) ** 2) + np.sum((error.T @ U) ** 2)
    size = float(np.linalg.norm(truth, 2))
    c = float(max(np.linalg.norm(U), np.linalg.norm(V)) / np.sqrt(size))
    if near * c_z**near_power * loss <= size**2:
        at = theory.Setting(d=2, p=2, k=1, largest=size, smallest=size, c=c, c_z=c_z)
        yield bound(at) * loss / slope, 1.0, {"c": c, "c_z": c_z, "L": loss}


@statement(
    "perfedsi.lemmaC5.corrected",
    place="Lemma C.5, (16)-(21)",
    hypotheses=model.COMPLETION,
    latex=r"\|U\|, \|V\| \le c\sqrt{\sigma_1},\ \mathcal L \le \frac{\sigma_r^2}{32 c_z}"
    r" \;\Rightarrow\; \|\nabla\mathcal L\|_F^2 \ge"
    r" \frac{9\sigma_r^2}{8 c_z c^2\sigma_1}\mathcal L; \quad \|\nabla\mathcal L\|_F^2 \ge"
    r" \tfrac2M\min\{\sigma_{\min}^2(\hat Y_*^\top ZV),"
    r" \sigma_{\min}^2(Z)\sigma_{\min}^2(\hat U_*^\top U)\}\mathcal L",
    plain="Near the truth a PL inequality follows from bounded norms, and (20) holds with 2/M "
    "and without c_z.",
    negative_control={"power": 1.0},
    corrects="perfedsi.lemmaC5",
    # c may be below 1.
    stronger={
        "power": 0, "c_z_power": -1, "condition_power": -1, "factor": 1, "near": -1,
        "near_power": -1, "twice": 1,
    },
)  # fmt: skip
def lemmaC5_corrected(
    budget, rng, *, power=2.0, c_z_power=1.0, condition_power=1.0, factor=1.125, near=32.0,
    near_power=1.0, twice=2.0,
):  # fmt: skip
    """Search both; powers are those of c, c_z and kappa. No other do: the factor is at most 2.

    L is at most sigma_r^2/(near c_z^near_power); `twice` stands in (20).
    """

    def bound(setting):
        condition = setting.largest / setting.smallest
        scale = setting.c_z ** (1.0 - c_z_power) * condition ** (1.0 - condition_power)
        return factor / 1.125 * theory.pl_constant_near(setting, power=power) * scale

    def with_norms(truth, U, V):
        setting = model.setting_of(truth, model.event(truth, U, V).norms)
        loss, slope = model.sizes(truth, U, V)
        if not 1e-12 < near * setting.c_z**near_power * loss / setting.smallest**2 <= 1.0:
            return None
        return bound(setting) * loss, slope**2

    def twentieth(truth, U, V):
        if model.relative_loss(truth, U, V) < 1e-12:
            return None
        found, (loss, slope) = theory.alignment(truth, U, V), model.sizes(truth, U, V)
        return twice * min(found.heads, found.side * found.items) * loss / truth.n, slope**2

    # From where errors are flattest.
    known = [(model.SHAPES[1], flat(*at)) for at in ((10.0, 1.0), (100.0, 1.0), (100.0, 16.0))]
    name, options = "norms bounded, L small, searched", {"strength": PROVED}
    yield model.searched(with_norms, budget, rng, name=name, known=known, **options)
    yield model.searched(twentieth, budget, rng, name="(20) with 2/M", **options)
    best = [
        (least * at["c_z"] * at["c"] ** power * at["kappa"], 2.0 * (1.0 + 1e-9), at)
        for least, at in unbalanced_truths(rng)
    ]
    quantity = "|grad L|^2/L over sigma_r^2/(c_z c^2 sigma_1)"
    yield Cases(best, quantity=quantity, name="the factor is at most 2", strength=PROVED)
    sharp = corners(bound, near, near_power)
    name = "where it is sharp"
    yield Cases(sharp, quantity="bound L/|grad L|^2", name=name, strength=PROVED)
