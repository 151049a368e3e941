"""Lemma C.6: how fast the gradient changes."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from linrep.claims import Cases, Curve, Fact, Identity, Readings, Together, statement
from linrep.claims.evidence import PROVED
from linrep.claims.instances import search_instances
from linrep.papers.perfedsi._hypotheses import COMPLETION, REGION
from linrep.papers.perfedsi._instances import SHAPES, event, read, setting_of
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory


class _Points(NamedTuple):
    """A truth, two iterates, the least c that has both in the region, their squared distance."""

    truth: SideInformationCompletion
    first: tuple
    second: tuple
    c: float
    distance: float


def _read_points(reader, shape) -> _Points | None:
    """Return a truth and two iterates."""
    found = read(reader, shape)
    size = 10.0 ** -min(abs(reader.number()), 3.0)
    in_U, in_V = (reader.numbers(shape[rows], shape["k"]) for rows in "dp")
    if found is None:
        return None
    truth, U1, V1 = found
    U2, V2 = U1 + size * in_U, V1 + size * in_V
    c = max(event(truth, U, V).norms for U, V in ((U1, V1), (U2, V2)))
    distance = np.sum((U1 - U2) ** 2) + np.sum((V1 - V2) ** 2)
    if distance < 1e-8 * max(np.sum(A**2) for A in (U1, U2, V1, V2)):
        return None  # rounding
    return _Points(truth, (U1, V1), (U2, V2), c, float(distance))


def _change(truth, first, second):
    """Return the squared change of the gradient."""
    one, other = (theory.loss_and_gradients(truth, *point)[1:] for point in (first, second))
    return float(sum(np.sum((a - b) ** 2) for a, b in zip(one, other, strict=True)))


def _scalars(budget):
    """Yield scalar truths with u = v = c and M* = -sigma, and a c, a step and c_z with them."""
    # At c^2 = 4/13 the constant 2 of (24) is used most.
    constants = (*np.geomspace(0.3, 4.0, budget(40, 200)), 1.0, (4.0 / 13.0) ** 0.5)
    for c, step, (c_z, unit) in product(constants, (0.5, 1e-1, 1e-3), ((1.0, 1.0), (4.0, 1e4))):
        root = np.sqrt(unit)
        U, V, Z = (np.array([[entry]]) for entry in (root, -root, np.sqrt(c_z)))
        yield SideInformationCompletion(U, V, Z), float(c), step, float(root)


def _smooth_cases(budget, bound):
    """Yield the left of (22) over its right along the scalars, the second point nearer to 0."""
    for truth, c, step, root in _scalars(budget):
        size = np.array([[c * root]])
        second = (1.0 - step) * size
        right = 0.5 * bound(setting_of(truth, c)) ** 2 * 2.0 * (step * c * root) ** 2
        yield (
            _change(truth, (size, size), (second, second)) / right,
            1.0,
            {
                "c": c,
                "step": step,
                "sigma_1": root**2,
                "c_z": theory.scaling(truth.Z).c_z,
            },
        )


def _smooth(budget, rng, bound, name="(22)", *, least=0.0, strength=PROVED):
    """Yield (22) with a beta, for c from `least` on: scalars, and a search."""

    def sides(at: _Points):
        beta = bound(setting_of(at.truth, max(at.c, least)))
        return _change(at.truth, at.first, at.second), 0.5 * beta**2 * at.distance

    scalars = [case for case in _smooth_cases(budget, bound) if case[2]["c"] >= least]
    yield Cases(scalars, quantity="lhs/rhs", name=f"{name}, scalars", strength=strength)
    name = f"{name}, searched"
    yield search_instances(
        sides, SHAPES[:2], _read_points, budget, rng, name=name, strength=strength
    )


def _in_fractions(across, constant) -> Cases:
    """Compare both sides of (22) at U = c, V = -c, M* = 1 and a step of 1/1000 towards 0.

    Both gradients are c (c^2 + 1) in size.
    """
    c, step = Fraction(31, 50), Fraction(1, 1000)
    left = 2 * ((c**3 + c) - ((c - step) ** 3 + c - step)) ** 2
    right = ((12 + Fraction(across)) * c**4 + Fraction(constant)) * 2 * step**2
    at = {"c": str(c), "step": str(step), "d": 1, "k": 1, "r": 1}
    return Cases([(left, right, at)], quantity="change of the gradient", name="(22) in fractions")


def _excess(across, constant):
    """Return beta^2/2 less the sharp constant, over c_z^2 sigma_1^2, as a polynomial in c^2."""
    return np.polynomial.Polynomial([constant - 1.0, -6.0, 3.0 + across])


def _exact(across, constant, least=0.0) -> Cases:
    """Compare the sharp constant with (12 + across) x^2 + constant, for all x = c^2, c >= least."""
    lowest = max(least**2, float(_excess(across, constant).deriv().roots()[0]))
    x = np.append(np.geomspace(max(least**2, 1e-4), 1e4, 10001), lowest)
    used = (3.0 * x + 1.0) ** 2 / ((12.0 + across) * x**2 + constant)
    worst = int(np.argmax(used))
    at = {"c": float(np.sqrt(x[worst]))}
    return Cases(
        [(used[worst], 1.0, at)], quantity="lhs/rhs", name="(22)'s constant", strength=PROVED
    )


def _first_term(budget, across, constant, power):
    """Yield the left of (24) over its right, in the direction that tries the scalars hardest."""
    for truth, c, step, root in _scalars(budget):
        z, unit = float(truth.Z[0, 0]), root**2
        on_V, on_U = (12.0 * c**4 + constant) * unit**2, across * c**4 * unit**2
        # The term's derivative is v^2 in U and 2uv - M* in V, all times z^2.
        in_U, in_V = c**2 * unit / on_U, (2.0 * c**2 + 1.0) * unit / on_V
        scale = step * c * root / max(in_U, in_V)
        u, v = c * root - scale * in_U, c * root - scale * in_V
        left = (z**2 * ((c**2 * unit + unit) * c * root - (u * v + unit) * v)) ** 2
        right = abs(z) ** power * (on_V * (scale * in_V) ** 2 + on_U * (scale * in_U) ** 2)
        yield left / right, 1.0, {"c": c, "step": step, "|Z|^2": z**2, "sigma_1": unit}


def _picture(cases):
    """Return the largest ratio over c along the scalars, a series per step."""
    return (
        pd.DataFrame([{"x": at["c"], "step": at["step"], "y": ratio} for ratio, _, at in cases])
        .groupby(["step", "x"], as_index=False)["y"]
        .max()
        .assign(
            panel="(22), scalars",
            xlabel="c",
            ylabel="left over right",
            series=lambda found: [f"step {step:g}" for step in found["step"]],
        )
    )


def _reading(budget, rng, across, constant, least, name) -> Together:
    """Return (22) and its constant for c from `least` on."""
    bound = partial(theory.smoothness, factor=2.0 * (12.0 + across), constant=2.0 * constant)
    return Together(
        [
            *_smooth(budget, rng, bound, least=least),
            _exact(across, constant, least),
            *([] if least else [_in_fractions(across, constant)]),
        ],
        name=name,
    )


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
    """Compare along scalars, and search; (24) has across c^4 on dU.

    The final constants are the sums over both gradients: 12 + across, and constant. Definition
    3.1's event, whose c this is, implies c >= 1 where anything moves: all L_m are at most cL, and L
    is their mean. The lemma itself does not say so. The line before the last of (24) has 8 c^4
    on dU, `own_lines`, and that is enough for any c.
    """
    own = "any c > 0, with the 8 c^4 of (24)'s line before the last"
    yield Readings(
        [
            _reading(budget, rng, across, constant, 1.0, "c is that of the event, c >= 1"),
            _reading(budget, rng, own_lines, constant, 0.0, own),
            _reading(budget, rng, across, constant, 0.0, "any c > 0, as printed"),
        ],
        phrase="c",
        printed_elsewhere={own: "(24), its last line but one"},
    )
    roots = np.sort(_excess(across, constant).roots())
    if np.isreal(roots).all():
        yield Fact("least c^2 at which beta is too small", roots[0])
        yield Fact("largest c^2 at which beta is too small", roots[1])
    bound = partial(theory.smoothness, factor=2.0 * (12.0 + across), constant=2.0 * constant)
    yield Curve(_picture(_smooth_cases(budget, bound)))


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
    printed, before = (
        Cases(
            list(_first_term(budget, on_U, constant, power)),
            quantity="lhs/rhs",
            name=name,
            strength=strength,
        )
        for name, on_U, power, strength in (
            ("as printed", across, 2, ""),
            ("|Z|^4 and 8 c^4", own_lines, 4, PROVED),
        )
    )
    yield Readings(
        [printed, before], name="(24)", printed_elsewhere={before.name: "its line before the last"}
    )


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

    def bound(setting):
        return factor * np.sqrt(2.0) * theory.smoothness_sharp(setting)

    yield from _smooth(budget, rng, bound)
    attained = [
        (1.0 - ratio, at) for ratio, _, at in _smooth_cases(budget, bound) if at["step"] < 0.01
    ]
    yield Identity(
        attained, 0.01, quantity="1 - lhs/rhs", name="approached by small steps", strength=PROVED
    )
