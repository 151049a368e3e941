"""Lemma C.5: the gradient against the loss, where factors are aligned with the truth."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np

from linrep.claims import Cases, Exponent, Fact, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.papers.perfedsi import _instances
from linrep.papers.perfedsi._hypotheses import COMPLETION
from linrep.papers.perfedsi._terms import rounded
from linrep.papers.perfedsi.counterexamples.lemmac5 import sides
from linrep.theory import perfedsi as theory


def _flattest(truth, U, V):
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


#: Readings of the region: the power of gamma that bounds it, as (21) has sigma_min^2 >= sigma_r/c,
#: and the power of c_z in gamma.
_REGIONS = {
    "orthonormal U*, V*": (1, 2),
    "scaled U*, V*": (1, 2),
    "gamma with c_z^3": (1, 3),
    "root of gamma": (Fraction(1, 2), 2),
    "root of gamma with c_z^3": (Fraction(1, 2), 3),
}
_ELSEWHERE = {
    "gamma with c_z^3": "(56)",
    "root of gamma": "(21)",
    "root of gamma with c_z^3": "(21) and (56)",
}


def _in_fractions() -> Readings:
    """Compare gamma L with ||grad L||^2 on the region's edge, singular values being 1.

    V is gamma V*, or the root of gamma times V*, or slightly more, and U the other way round with
    an error orthogonal to U*: norms are at most c. Z'Z is M/c_z times the identity; the root needs
    c_z > 2.
    """
    parts = []
    for name, (power, c_z_power) in _REGIONS.items():
        c, c_z = (10, 1) if power == 1 else (100, 4)
        gamma = Fraction(1, c * c_z**c_z_power)
        edge = gamma if power == 1 else Fraction(1, isqrt(gamma.denominator))
        edge *= Fraction(1001, 1000)
        at = {"d": 16, "k": 1, "r": 1, "gamma": str(gamma), "c": str(c), "c_z": c_z}
        promised, actual = sides(edge, gamma, c_z)
        quantity = "promised square of the gradient, gamma L, over the actual one"
        parts.append(Cases([(promised / actual, 1, at)], quantity=quantity, name=name))
    return Readings(
        parts, name="region, in fractions", phrase="gamma", printed_elsewhere=_ELSEWHERE
    )


def _flat(c, c_z):
    """Return numbers for `read` at d = p = 2: U of norm c, V* where Z is weakest."""
    Z = np.diag(np.sqrt([2.0 / c_z, 2.0 * c_z]))
    e_1, e_2 = np.eye(2)
    return np.concatenate([[3.0], Z.ravel(), e_1, e_1, e_2, np.zeros(2), [c]])


#: Where errors are flattest, for searches to start from.
_FLATTEST = [
    (_instances.SHAPES[1], _flat(c, c_z)) for c, c_z in ((10.0, 1.0), (100.0, 1.0), (100.0, 16.0))
]


def _with_norms(budget, rng, bound, name, *, region=(32.0, 1.0), **options):
    """Search bound(setting) L <= ||grad L||^2 where norms are at most c sqrt(sigma_1), L small."""

    def lhs_rhs(truth, U, V):
        setting = _instances.setting_of(truth, _instances.event(truth, U, V).norms)
        loss, slope = _instances.sizes(truth, U, V)
        near, power = region
        if not 1e-12 < near * setting.c_z**power * loss / setting.smallest**2 <= 1.0:
            return None
        return bound(setting) * loss, slope**2

    return _instances.searched(lhs_rhs, budget, rng, name=name, known=_FLATTEST, **options)


def _corners(bound, near, near_power):
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
        yield rounded(bound(at) / slope), 1.0, {"c": c, "condition": condition, "c_z": c_z}
    for c_z in (1.0, 2.0**9, 2.0**41, 2.0**81):  # L = 1/(2 c_z)
        if near * c_z**near_power <= 2.0 * c_z:
            yield np.inf, 1.0, {"U": 0, "V": 0, "c_z": c_z}
        else:
            yield 0.0, 1.0, {"U": 0, "V": 0, "c_z": c_z, "L": "too large"}
    yield from _unbalanced(bound, near, near_power)


def _unbalanced(bound, near, near_power):
    """Yield the bound over ||grad L||^2/L at a loss that the region just allows, c below 1, r = 1.

    Side information has the squared singular values c_z and 1/c_z.
    """
    c_z = 6352 / 597
    second_moment = np.diag([c_z, 1.0 / c_z])
    U = np.array([[803 / 1178], [-848 / 1159]])
    V = np.array([[-898 / 1009], [-347 / 761]])
    truth = np.outer([1524 / 1865, -1306 / 1489], [-23 / 31, -938 / 1507])
    error = (U @ V.T - truth) @ second_moment
    loss = 0.5 * np.sum(error * (U @ V.T - truth))
    slope = np.sum((error @ V) ** 2) + np.sum((error.T @ U) ** 2)
    size = float(np.linalg.norm(truth, 2))
    c = float(max(np.linalg.norm(U), np.linalg.norm(V)) / np.sqrt(size))
    if near * c_z**near_power * loss <= size**2:
        at = theory.Setting(d=2, p=2, k=1, largest=size, smallest=size, c=c, c_z=c_z)
        yield bound(at) * loss / slope, 1.0, {"c": c, "c_z": c_z, "L": loss}


def _at_the_limit(bound, rng):
    """Yield the bound over ||grad L||^2/L of small errors, U = c sqrt(sigma_1) times a frame.

    V is as small as the product allows then.
    """
    for c, (c_z, kappa), aligned in product(
        (1.0, 2.0, 5.0, 20.0, 100.0),
        ((1.0, 1.0), (4.0, 1.0), (1.0, 10.0), (16.0, 100.0)),
        (False, True),
    ):
        truth = _instances.random_truth((kappa, 1.0), c_z, rng, aligned=aligned)
        flattest = _flattest(truth, *_instances.split(truth, c * np.sqrt(kappa), "U"))
        at = {"c": c, "c_z": c_z, "kappa": kappa}
        yield bound(_instances.setting_of(truth, c)) / flattest, 1.0, at


def _twentieth(budget, rng, factor, power, name, **options):
    """Search (20): factor/M times the minimum, in which c_z has a power, against the gradient."""

    def lhs_rhs(truth, U, V):
        if _instances.relative_loss(truth, U, V) < 1e-12:
            return None
        found = theory.alignment(truth, U, V)
        loss, slope = _instances.sizes(truth, U, V)
        c_z = theory.scaling(truth.Z).c_z
        least = min(found.heads, found.side * found.items * c_z**power)
        return factor * least * loss / truth.n, slope**2

    return _instances.searched(lhs_rhs, budget, rng, name=name, **options)


def _last_line(power):
    """Yield gamma against (20)'s factor of L where both alignments are as (21) says.

    The squares of sigma_min(Y*'ZV) are sigma_r/c, and those of sigma_min(U*'U), about which the
    text says nothing; sigma_min^2(Z) is M/c_z.
    """
    for n, c, c_z in product((1, 4, 20, 100), (1.0, 10.0), (1.0, 4.0, 100.0)):
        setting = theory.Setting(d=6, p=1, k=1, c=c, c_z=c_z)
        square = setting.smallest / c
        factor = min(square, n / c_z * square / c_z**2) / n
        gamma = theory.pl_constant(setting, c_z_power=power)
        yield gamma * (1.0 - 1e-12), factor, {"M": n, "c": c, "c_z": c_z}


def _last_lines() -> Readings:
    """Return the step from (20) to the last line, for what gamma may be."""
    return Readings(
        [
            Cases(_last_line(power), quantity="gamma", name=f"(21) as printed, c_z^{power}")
            for power in (2, 3)
        ],
        name="(20) gives the last line by (21)",
        phrase="gamma",
        printed_elsewhere={"(21) as printed, c_z^3": "(56)"},
    )


def _heads_in_clients(rng):
    """Return the power of M in sigma_min(Y*'ZV) at V = V*, Z'Z = M I."""
    clients, found = (10, 100, 1000), []
    for n in clients:
        truth = _instances.random_truth((1.0, 1.0), 1.0, rng, n=n)
        found.append(np.sqrt(theory.alignment(truth, truth.U, truth.V).heads))
    return float(np.polyfit(np.log(clients), np.log(found), 1)[0])


#: Sizes of 1/gamma at the region's edge; of c, kappa = sigma_1/sigma_r and c_z with norms at their
#: limit, sigma_r being fixed.
_LINES = {
    "1/gamma": (1.0, 3.0, 10.0, 30.0, 100.0),
    "c": (1.0, 2.0, 4.0, 8.0, 16.0),
    "kappa": (1.0, 2.0, 4.0, 8.0, 16.0),
    "c_z": (1.0, 2.0, 4.0, 8.0, 16.0),
}


def _best(rng, power):
    """Yield ||grad L||^2/L of the flattest small errors, U = c sqrt(sigma_1) times a frame.

    In units of sigma_r^2/(c_z c^power sigma_1), where side information is weakest along V's
    weakest direction.
    """
    for c, (c_z, kappa) in product((1.0, 3.0, 30.0), ((1.0, 1.0), (4.0, 2.0), (16.0, 100.0))):
        truth = _instances.random_truth((kappa, 1.0), c_z, rng, aligned=True)
        flattest = _flattest(truth, *_instances.split(truth, c * np.sqrt(kappa), "U"))
        yield (
            flattest * c_z * c**power * kappa,
            2.0 * (1.0 + 1e-9),
            {
                "c": c,
                "c_z": c_z,
                "kappa": kappa,
            },
        )


def _slopes(budget, rng, claimed) -> list[Exponent]:
    """Measure how fast L/||grad L||^2 of the flattest small error grows: at most as claimed."""
    parts = []
    for (name, values), power in zip(_LINES.items(), claimed, strict=True):
        samples = []
        for value in values:
            c, kappa, c_z = (value if name == line else 1.0 for line in ("c", "kappa", "c_z"))
            column = []
            for _ in range(budget(24, 40)):
                truth = _instances.random_truth((kappa, 1.0), c_z, rng, aligned=True)
                edge = (1.0 / value, "V") if name == "1/gamma" else (c * np.sqrt(kappa), "U")
                column.append(1.0 / _flattest(truth, *_instances.split(truth, *edge)))
            samples.append(column)
        parts.append(
            Exponent(
                values,
                samples,
                at_most=power,
                along=name,
                of="largest L/|grad L|^2",
                name=f"L/|grad L|^2 in {name}",
            )
        )
    return parts


@statement(
    "perfedsi.lemmaC5",
    place="Lemma C.5, (16)-(21)",
    hypotheses=COMPLETION,
    latex=r"\sigma_{\min}(U_*^\top U), \sigma_{\min}(V_*^\top V) \ge \gamma ="
    r" \frac{\sigma_r}{c c_z^2} \;\Rightarrow\; \|\nabla\mathcal L\|_F^2 \ge \gamma\mathcal L",
    plain="Where the factors' alignment with the truth is at least gamma, the loss satisfies a "
    "PL inequality with that gamma.",
    negative_control={"power": 0.5},
)
def lemmaC5(budget, rng, *, power=1.0):
    """Try the region, norms at the event's limit, and (20); the power is gamma's in the slopes."""
    yield _in_fractions()
    yield Cases(
        _at_the_limit(theory.pl_constant, rng),
        quantity="gamma L/|grad L|^2",
        name="norms at their limit",
    )
    yield _twentieth(budget, rng, 1.0, -2.0, "(20)")
    yield _last_lines()
    yield from _slopes(budget, rng, (power, 1.0, 0.0, 2.0))
    yield Fact("power of M in sigma_min(Y*'ZV) at V = V*", _heads_in_clients(rng))


@statement(
    "perfedsi.lemmaC5.corrected",
    place="Lemma C.5, (16)-(21)",
    hypotheses=COMPLETION,
    latex=r"\|U\|, \|V\| \le c\sqrt{\sigma_1},\ \mathcal L \le \frac{\sigma_r^2}{32 c_z}"
    r" \;\Rightarrow\; \|\nabla\mathcal L\|_F^2 \ge"
    r" \frac{9\sigma_r^2}{8 c_z c^2\sigma_1}\mathcal L; \quad \|\nabla\mathcal L\|_F^2 \ge"
    r" \tfrac2M\min\{\sigma_{\min}^2(\hat Y_*^\top ZV),"
    r" \sigma_{\min}^2(Z)\sigma_{\min}^2(\hat U_*^\top U)\}\mathcal L",
    plain="Near the truth a PL inequality follows from bounded norms, and (20) holds with 2/M "
    "and without c_z.",
    negative_control={"power": 1.0},
    corrects="perfedsi.lemmaC5",
    stronger={
        "power": 0,  # c may be below 1
        "c_z_power": -1,
        "condition_power": -1,
        "factor": 1,
        "near": -1,
        "near_power": -1,
        "twice": 1,
    },
)
def lemmaC5_corrected(
    budget,
    rng,
    *,
    power=2.0,
    c_z_power=1.0,
    condition_power=1.0,
    factor=1.125,
    near=32.0,
    near_power=1.0,
    twice=2.0,
):
    """Search both; powers are those of c, c_z and kappa. No other do: the factor is at most 2.

    L is at most sigma_r^2/(near c_z^near_power); `twice` stands in (20).
    """

    def bound(setting):
        condition = setting.largest / setting.smallest
        scale = setting.c_z ** (1.0 - c_z_power) * condition ** (1.0 - condition_power)
        return factor / 1.125 * theory.pl_constant_near(setting, power=power) * scale

    region = near, near_power
    yield Cases(
        _at_the_limit(bound, rng),
        quantity="bound L/|grad L|^2",
        name="norms at their limit",
        strength=PROVED,
    )
    name = "norms bounded, L small, searched"
    yield _with_norms(budget, rng, bound, name, region=region, strength=PROVED)
    yield _twentieth(budget, rng, twice, 0.0, "(20) with 2/M", strength=PROVED)
    yield Cases(
        _best(rng, power),
        quantity="|grad L|^2/L over sigma_r^2/(c_z c^2 sigma_1)",
        name="the factor is at most 2",
        strength=PROVED,
    )
    yield Cases(
        _corners(bound, *region),
        quantity="bound L/|grad L|^2",
        name="where it is sharp",
        strength=PROVED,
    )
