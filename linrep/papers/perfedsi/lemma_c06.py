"""Lemma C.6: how fast the gradient changes."""

from fractions import Fraction
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from linrep.claims import Cases, Identity, Readings, Together, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines
from linrep.claims.search import search_instances
from linrep.papers.perfedsi.model import COMPLETION, REGION, SHAPES, event, read, setting_of
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

# In numbers: a = c^2, in units of c_z^2 sigma_1^2.


@lines("perfedsi.lemmaC6", Region(a=(1, None)), steps=["(24), c >= 1"], suffice=True)
def from_one(a, *, across=4, constant=2):
    """With the 4 c^4 on dU that is printed, for the c of the event."""
    return {
        "(24), c >= 1": at_most(1 / across + (2 * a + 1) ** 2 / (12 * a**2 + constant), 1),
        "(22)'s constant, c >= 1": at_most((3 * a + 1) ** 2, (12 + across) * a**2 + constant),
    }


# Another reading's, which refute nothing of the first.
@lines(
    "perfedsi.lemmaC6", Region(a=(Open(0), None)), steps=["(24), any c", "(22)'s constant, any c"]
)
def any_c(a, *, own_lines=8, constant=2):
    """With the 8 c^4 of (24)'s line before the last."""
    return {
        "(24), any c": at_most(1 / own_lines + (2 * a + 1) ** 2 / (12 * a**2 + constant), 1),
        "(22)'s constant, any c": at_most((3 * a + 1) ** 2, (12 + own_lines) * a**2 + constant),
    }


@lines(
    "perfedsi.lemmaC6.least_constant", Region(a=(Open(0), None), h=(0, 1)),
    steps=["a step from c to (1 - h) c"],
)  # fmt: skip
def shorter_step(a, h):
    """At least (1 - h)^4 of the squared bound."""
    return {
        "a step from c to (1 - h) c": at_most((1 - h) ** 2 * (3 * a + 1), 3 * a * (1 - h) ** 2 + 1)
    }


# In matrices.


class Points(NamedTuple):
    """A truth, two iterates, the least c that has both in the region, their squared distance."""

    truth: SideInformationCompletion
    first: tuple
    second: tuple
    c: float
    distance: float


def read_points(reader, shape) -> Points | None:
    """Return a truth and two iterates."""
    found, size = read(reader, shape), 10.0 ** -min(abs(reader.number()), 3.0)
    moves = [reader.numbers(shape[rows], shape["k"]) for rows in "dp"]
    if found is None:
        return None
    truth, *first = found
    second = [A + size * move for A, move in zip(first, moves, strict=True)]
    distance = sum(float(np.sum((A - B) ** 2)) for A, B in zip(first, second, strict=True))
    if distance < 1e-8 * max(np.sum(A**2) for A in (*first, *second)):
        return None  # rounding
    c = max(event(truth, *point).norms for point in (first, second))
    return Points(truth, tuple(first), tuple(second), c, distance)


def change(truth, first, second) -> float:
    """Return the squared change of the gradient."""
    one, other = (theory.loss_and_gradients(truth, *point)[1:] for point in (first, second))
    return float(sum(np.sum((a - b) ** 2) for a, b in zip(one, other, strict=True)))


def scalars(budget):
    """Yield scalar truths with u = v = c and M* = -sigma, and what tells them apart."""
    # At c^2 = 4/13 the constant 2 of (24) is used most.
    constants = (*np.geomspace(0.3, 4.0, budget(40, 200)), 1.0, (4.0 / 13.0) ** 0.5)
    for c, step, (c_z, unit) in product(constants, (0.5, 1e-1, 1e-3), ((1.0, 1.0), (4.0, 1e4))):
        U, V, Z = (np.array([[entry]]) for entry in (unit**0.5, -(unit**0.5), np.sqrt(c_z)))
        at = {"c": float(c), "step": step, "sigma_1": unit, "c_z": c_z}
        yield SideInformationCompletion(U, V, Z), at


def along_scalars(budget, bound, least=0.0):
    """Yield left over right of (22), the second point nearer to 0, with a beta of the setting."""
    for truth, at in scalars(budget):
        c, step, unit = at["c"], at["step"], at["sigma_1"]
        if c >= least:
            size = np.array([[c * unit**0.5]])
            second = (1.0 - step) * size
            right = 0.5 * bound(setting_of(truth, c)) ** 2 * 2.0 * (step * c) ** 2 * unit
            yield change(truth, (size, size), (second, second)) / right, 1.0, at


def smooth(budget, rng, bound, least=0.0):
    """Yield (22) with a beta, for c from `least` on: scalars, and a search."""

    def sides(at: Points):
        beta = bound(setting_of(at.truth, max(at.c, least)))
        return change(at.truth, at.first, at.second), 0.5 * beta**2 * at.distance

    cases = along_scalars(budget, bound, least)
    yield Cases(cases, quantity="lhs/rhs", name="(22), scalars", strength=PROVED)
    yield search_instances(
        sides, SHAPES[:2], read_points, budget, rng, name="(22), searched", strength=PROVED
    )


def in_fractions(across, constant, name) -> Cases:
    """Compare both sides of (22) at U = c, V = -c, M* = 1 and a step of 1/1000 towards 0.

    Both gradients are c (c^2 + 1) in size.
    """
    c, step = Fraction(31, 50), Fraction(1, 1000)
    left = 2 * ((c**3 + c) - ((c - step) ** 3 + c - step)) ** 2
    right = ((12 + Fraction(across)) * c**4 + Fraction(constant)) * 2 * step**2
    at = {"c": str(c), "step": str(step), "d": 1, "k": 1, "r": 1}
    return Cases([(left, right, at)], quantity="change of the gradient, exact", name=name)


def beta(across, constant):
    """Return beta as of the setting: the constants are sums over both gradients."""
    return partial(theory.smoothness, factor=2.0 * (12.0 + across), constant=2.0 * constant)


@statement(
    "perfedsi.lemmaC6",
    place="Lemma C.6, (22)",
    hypotheses=COMPLETION,
    latex=r"\|U_j\|, \|V_j\| \le c\sqrt{\sigma_1} \;\Rightarrow\; \|\nabla\mathcal L_1 -"
    r" \nabla\mathcal L_2\|_F^2 \le \frac{\beta^2}2(\|U_1 - U_2\|_F^2 + \|V_1 - V_2\|_F^2),\quad"
    r" \beta^2 = c_z^2(32c^4 + 4)\sigma_1^2",
    plain="The gradient is Lipschitz where norms are at most c sqrt(sigma_1), with that beta.",
    negative_control={"across": 1.0, "own_lines": 1.0},
    stronger={"across": -1, "constant": -1},
)
def lemmaC6(budget, rng, *, across=4.0, own_lines=8.0, constant=2.0):
    """Prove the constants, compare along scalars, and search; (24) has across c^4 on dU.

    Definition 3.1's event, whose c this is, implies c >= 1 where anything moves: all L_m are at
    most cL, and L is their mean. The lemma itself does not say so. The line before the last of
    (24) has 8 c^4 on dU, `own_lines`, and that is enough for any c.
    """

    def reading(on_U, least, proof, name):
        on = {"across": on_U, "own_lines": on_U, "constant": constant}
        parts = smooth(budget, rng, beta(on_U, constant), least)
        return Together([*parts, proof.measure(**on)], name=name)

    own = "any c > 0, with the 8 c^4 of (24)'s line before the last"
    yield Readings(
        [
            reading(across, 1.0, from_one, "c is that of the event, c >= 1"),
            reading(own_lines, 0.0, any_c, own),
            in_fractions(across, constant, "any c > 0, as printed"),
        ],
        phrase="c",
        printed_elsewhere={own: "(24), its last line but one"},
    )


def first_term(budget, across, constant, power):
    """Yield the left of (24) over its right, in the direction that tries the scalars hardest."""
    for truth, at in scalars(budget):
        c, step, unit = at["c"], at["step"], at["sigma_1"]
        z, root = float(truth.Z[0, 0]), unit**0.5
        on_V, on_U = (12.0 * c**4 + constant) * unit**2, across * c**4 * unit**2
        # The term's derivative is v^2 in U and 2uv - M* in V, all times z^2.
        in_U, in_V = c**2 * unit / on_U, (2.0 * c**2 + 1.0) * unit / on_V
        scale = step * c * root / max(in_U, in_V)
        u, v = c * root - scale * in_U, c * root - scale * in_V
        left = (z**2 * ((c**2 * unit + unit) * c * root - (u * v + unit) * v)) ** 2
        right = abs(z) ** power * (on_V * (scale * in_V) ** 2 + on_U * (scale * in_U) ** 2)
        yield left / right, 1.0, {"c": c, "step": step, "|Z|^2": z**2, "sigma_1": unit}


@statement(
    "perfedsi.eq24",
    place="Lemma C.6, (24)",
    hypotheses=(*COMPLETION, REGION),
    latex=r"\|U_j\|, \|V_j\| \le c\sqrt{\sigma_1} \;\Rightarrow\;"
    r" \|(U_1V_1^\top - M_*)Z^\top ZV_1 - (U_2V_2^\top - M_*)Z^\top ZV_2\|_F^2 \le"
    r" \|Z\|_2^2\big((12c^4 + 2)\sigma_1^2\|V_1 - V_2\|_F^2 + 4c^4\sigma_1^2"
    r"\|U_1 - U_2\|_F^2\big)",
    plain="The first of the two terms of the gradient's change is bounded with the square of Z's "
    "norm, where norms are at most c sqrt(sigma_1).",
    negative_control={"across": 0.5, "own_lines": 0.5},
    stronger={"own_lines": -1, "constant": -1},
    expected="misprint",
)
def eq24(budget, rng, *, across=4.0, own_lines=8.0, constant=2.0):
    """Compare along scalars, in the direction that tries them hardest.

    The last line has the square of Z's norm and across c^4 on dU, the one before the fourth power
    and own_lines c^4. With the fourth power and across c^4 it is used in the next display, for the
    c of the event: Lemma C.6.
    """
    printed = first_term(budget, across, constant, 2)
    before = first_term(budget, own_lines, constant, 4)
    parts = [
        Cases(printed, quantity="lhs/rhs", name="as printed"),
        Cases(before, quantity="lhs/rhs", name="|Z|^4 and 8 c^4", strength=PROVED),
    ]
    elsewhere = {"|Z|^4 and 8 c^4": "its line before the last"}
    yield Readings(parts, name="(24)", printed_elsewhere=elsewhere)


@statement(
    "perfedsi.lemmaC6.least_constant",
    own=True,
    place="Lemma C.6, (22)-(24)",
    hypotheses=COMPLETION,
    latex=r"\sup \frac{\|\nabla\mathcal L_1 - \nabla\mathcal L_2\|_F^2}{\|U_1 - U_2\|_F^2 + \|V_1"
    r" - V_2\|_F^2} = c_z^2\sigma_1^2(3c^2 + 1)^2 \text{ over truths and } \|U_j\|, \|V_j\| \le"
    r" c\sqrt{\sigma_1}, \quad c > 0",
    plain="The least Lipschitz constant of the gradient where norms are at most c sqrt(sigma_1),"
    " that serves all truths, is c_z sigma_1 (3 c^2 + 1).",
    negative_control={"factor": 0.97},
    stronger={"factor": 0},
)
def lemmaC6_least_constant(budget, rng, *, factor=1.0):
    """Compare along scalars, which come as near as one likes in small steps, and search."""

    def sharp(setting):
        return factor * np.sqrt(2.0) * theory.smoothness_sharp(setting)

    yield from smooth(budget, rng, sharp)
    near = [(1.0 - ratio, at) for ratio, _, at in along_scalars(budget, sharp) if at["step"] < 0.01]
    name = "approached by small steps"
    yield Identity(near, 0.01, quantity="1 - lhs/rhs", name=name, strength=PROVED)
