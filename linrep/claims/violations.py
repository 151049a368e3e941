"""Search for instances on which an inequality fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from linrep.claims.claim import Budget
from linrep.claims.measurements import Search

#: Excesses up to this, relative to lhs and rhs, are rounding.
GUARD = 1e-9
#: Differences of lhs and rhs up to this, relative to their largest term, are rounding: 450 units.
ROUNDING = 1e-13
_LATTICE = 4  # the coarse search takes quarters
_REACH = 4.0
_MOVES = 12
_MOVE = 8.0 * float(np.finfo(np.float64).eps)  # relative to the largest number of an instance
_CLEAR = 3.0  # times the change that moves make is what counts as larger

LhsRhs = Callable[[Mapping[str, int], NDArray[np.float64]], "tuple[float, ...] | None"]
Named = Callable[[Mapping[str, int], NDArray[np.float64]], Mapping[str, Any]]


def search(
    lhs_rhs: LhsRhs,
    shapes: Sequence[Mapping[str, int]],
    length: Callable[[Mapping[str, int]], int],
    budget: Budget,
    rng: np.random.Generator,
    *,
    known: Sequence[tuple[Mapping[str, int], NDArray[np.float64]]] = (),
    guard: float = GUARD,
    named: Named | None = None,
    **options: Any,
) -> Search:
    """Look for a violation of lhs <= rhs.

    Parameters
    ----------
    lhs_rhs : callable
        ``lhs_rhs(shape, x)`` returns lhs and rhs of the instance that the real numbers x, shape
        (length(shape),), stand for, or None where it does not satisfy the hypotheses. As a third
        number it may return the size of the largest term of which they are sums; by default that of
        the largest number in x, 1 at least.
    shapes : sequence of mapping
        Sizes to search at, smallest first.
    length : callable
        How many real numbers an instance of a shape takes.
    budget : Budget
    rng : numpy.random.Generator
    known : sequence of (mapping, ndarray), optional
        Instances to start from besides random ones, each with its shape.
    guard : float
        What rounding may do to lhs - rhs, relative to the sum of their sizes.
    named : callable, optional
        ``named(shape, x)`` returns plain values that say what the instance is, by name; by default
        the sizes and ``x``.
    **options
        `name`, `quantity` and others of :class:`linrep.claims.Search`.

    Returns
    -------
    Search
        With a violation if lhs - rhs, relative to the sum of their sizes, exceeds `guard`
        somewhere, and 1e-13 relative to their largest term, also after the instance is moved by
        rounding; it is shrunk to few and short numbers. A smaller excess counts as equality. Beside
        the violation, or where there is none, the instance of the largest lhs/rhs that was met.

    Raises
    ------
    ValueError
        If no instance satisfies the hypotheses, or both sides are below rounding at all of them.

    Notes
    -----
    Three searches: random normal instances over five orders of magnitude; local ascent (Nelder-Mead
    and Powell) from the best of them; and Hypothesis on quarters of whole numbers, which shrinks
    what it finds.
    """
    ratios: list[float] = []
    equal = 0
    visible = small = False
    best: tuple[float, Mapping[str, int] | None, NDArray[np.float64]]
    best = -math.inf, None, np.empty(0)
    # By lhs/rhs, and among those of one ratio by the excess.
    worst: tuple[tuple[float, float], Mapping[str, int], NDArray[np.float64]]
    worst = (-math.inf, -math.inf), {}, np.empty(0)

    def excess(shape, x):
        nonlocal best, worst, equal, visible, small
        x = np.array(x, dtype=float)
        sides = _sides(lhs_rhs, shape, x)
        value, ratio = _excess(sides)
        if sides is not None:
            visible |= max(map(abs, sides[:2])) > ROUNDING * sides[2]
            small |= sides[1] != 0.0
        if value > guard and not _stands(lhs_rhs, shape, x, guard):
            value, ratio = 0.0, -math.inf  # lhs and rhs are what rounding made of them
            equal += 1
        elif 0.0 < value <= guard:
            equal += 1
        ratios.append(ratio)
        if value > best[0]:
            best = (value, shape, x)
        if (ratio, value) > worst[0]:
            worst = ((ratio, value), shape, x)
        return value

    def described(shape, x):
        with np.errstate(all="ignore"):
            left, right, *_ = lhs_rhs(shape, x) or (math.nan, math.nan)
            values = {**shape, "x": x.tolist()} if named is None else named(shape, x)
        return {**values, "left": float(left), "right": float(right)}

    if not shapes:
        raise ValueError("shapes must hold at least one")
    for shape in shapes:
        size = length(shape)
        starts = [(excess(shape, x), x) for at, x in known if at == shape]
        for _ in range(budget(60, 400, 4000)):
            x = rng.standard_normal(size) * 10.0 ** rng.uniform(-3.0, 2.0)
            if rng.random() < 0.3:  # sparse instances are where equality often is
                x *= rng.random(size) < 0.5
            starts.append((excess(shape, x), x))
        starts.sort(key=lambda pair: pair[0], reverse=True)
        for value, x in starts[: budget(2, 6, 40)]:
            if value == -math.inf or best[0] > guard:
                break
            for method in ("Nelder-Mead", "Powell"):
                minimize(
                    lambda z, shape=shape: min(1e3, -excess(shape, z)),
                    x,
                    method=method,
                    options={"maxfev": budget(150, 600, 4000)},
                )
        if best[0] > guard:
            break
    minimal = None
    if best[0] <= guard:
        minimal = _on_lattice(excess, shapes, length, budget, rng, guard)
    value, shape, x = best if minimal is None else (excess(*minimal), *minimal)
    if shape is None:
        raise ValueError(
            "no instance satisfies the hypotheses: at all of them lhs_rhs() returns None, NaN or "
            "an infinite rhs"
        )
    if small and not visible:
        raise ValueError(
            "at all instances both sides are below the rounding of their terms: as a third number "
            "lhs_rhs() has to return the size of the largest term"
        )
    if value > guard:
        x = _shrunk(lambda z: excess(shape, z), x, guard)
        smallest = described(shape, x)
        options |= {"left": smallest.pop("left"), "right": smallest.pop("right")}
        options["instance"] = smallest
    options["worst"] = described(*worst[1:])
    return Search(
        excess=value, guard=guard, tightest=max(ratios), evaluations=len(ratios), equal=equal,
        ratios=[ratio for ratio in ratios if 0.0 < ratio < math.inf], **options,
    )  # fmt: skip


def _sides(lhs_rhs, shape, x):
    """Return lhs, rhs and the size of their largest term; None where there is no such instance."""
    with np.errstate(all="ignore"):
        sides = lhs_rhs(shape, x)
    if sides is None or math.isnan(sides[0]) or not math.isfinite(sides[1]):
        return None
    left, right, *terms = sides
    return left, right, terms[0] if terms else np.abs(x).max(initial=1.0)


def _excess(sides):
    """Return lhs - rhs relative to the sum of their sizes, and lhs/rhs."""
    if sides is None:
        return -math.inf, -math.inf
    left, right, _ = sides
    scale = abs(left) + abs(right)
    value = (left - right) / scale if 0.0 < scale < math.inf else float(np.sign(left))
    return (0.0 if scale == 0.0 else value), (left / right if right > 0.0 else -math.inf)


def _stands(lhs_rhs, shape, x, guard):
    """Tell whether a violation is beyond rounding, as also when the instance's numbers move by it.

    Also those that are 0: lhs and rhs that vanish with them do not stay as they are. And it has to
    be larger than what the moves make of it. Where a hypothesis does not survive a move, there is
    nothing to compare.
    """
    size = np.abs(x).max(initial=0.0) or 1.0
    differences = []
    for move in (0.0, *(_MOVE * size * _signs(len(x)))):
        sides = _sides(lhs_rhs, shape, x + move)
        if sides is None or sides[0] == math.inf:
            continue
        left, right, terms = sides
        if left - right <= max(guard * (abs(left) + abs(right)), ROUNDING * terms):
            return False
        differences.append(left - right)
    return not differences or differences[0] > _CLEAR * (max(differences) - min(differences))


@cache
def _signs(count):
    """Return the signs of the moves of so many numbers."""
    return np.random.default_rng(count).choice((-1.0, 1.0), size=(_MOVES, count))


def _on_lattice(excess, shapes, length, budget, rng, guard):
    """Return the smallest violation there is among quarters of whole numbers, None if none."""
    from hypothesis import HealthCheck, Phase, find, settings, strategies, target
    from hypothesis.errors import NoSuchExample

    entries = strategies.integers(-int(_REACH * _LATTICE), int(_REACH * _LATTICE))
    instances = strategies.sampled_from(range(len(shapes))).flatmap(
        lambda place: strategies.tuples(
            strategies.just(place),
            strategies.lists(
                entries, min_size=length(shapes[place]), max_size=length(shapes[place])
            ),
        )
    )

    def violates(instance):
        place, numbers = instance
        value = excess(shapes[place], np.array(numbers) / _LATTICE)
        if value > -math.inf:
            target(value)
        return value > guard

    try:
        place, numbers = find(
            instances,
            violates,
            random=Random(int(rng.integers(2**32))),
            settings=settings(
                max_examples=budget(60, 400, 4000),
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate, Phase.target, Phase.shrink),
            ),
        )
    except NoSuchExample:
        return None
    return shapes[place], np.array(numbers) / _LATTICE


def _shrunk(excess, x, guard):
    """Return a violation of shorter numbers: zeros where possible, few digits elsewhere."""
    x = x.copy()
    for index in np.argsort(np.abs(x)):
        for digits in (None, 0, 1, 2, 3):
            tried = x.copy()
            tried[index] = 0.0 if digits is None else _rounded(x[index], digits)
            if excess(tried) > 100.0 * guard:
                x = tried
                break
    return x


def _rounded(value, digits):
    """Round to a number of digits after the leading one."""
    if value == 0.0:
        return 0.0
    return round(value, digits - math.floor(math.log10(abs(value))))
