"""Whether an inequality fails somewhere: searched for, or excluded by interval arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from heapq import heappop, heappush
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from linrep.claims.claim import Budget
from linrep.claims.evidence import INTERVALS, LOWER, UPPER
from linrep.claims.measurements import Condition, Missing, Search

#: Excesses up to this, relative to lhs and rhs, are rounding.
GUARD = 1e-9
#: Differences of lhs and rhs up to this, relative to their largest term, are rounding: 450 units.
ROUNDING = 1e-13
_LATTICE = 4  # the coarse search takes quarters
_REACH = 4.0
_MOVES = 12
_MOVE = 8.0 * float(np.finfo(np.float64).eps)  # relative to the largest number of an instance
_CLEAR = 3.0  # times the change that moves make is what counts as larger

Array = NDArray[np.float64]


class Reader:
    """Real numbers, read one after the other.

    Parameters
    ----------
    numbers : ndarray, optional
        Without them whatever is read is 1, and counted.

    Attributes
    ----------
    count : int
        How many were read.

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Reader
    >>> counting = Reader()
    >>> counting.frame(3, 2).shape, counting.between(0.0, 1.0), counting.count
    ((3, 2), 0.0, 7)
    """

    def __init__(self, numbers: Array | None = None):
        self._given = numbers
        self.count = 0

    def numbers(self, *shape: int) -> Array:
        """Return so many real numbers.

        Parameters
        ----------
        *shape : int
            Of the array.
        """
        start, self.count = self.count, self.count + int(np.prod(shape))
        if self._given is None:
            return np.ones(shape)
        return self._given[start : self.count].reshape(shape)

    def number(self) -> float:
        """Return a real number."""
        return float(self.numbers(1)[0])

    def share(self) -> float:
        """Return a number from 0 to 1: all of them can be reached, the ends by whole numbers."""
        return 0.5 + 0.5 * float(np.cos(np.pi * self.number()))

    def between(self, low: float, high: float) -> float:
        """Return a number from one to another, the ends included.

        Parameters
        ----------
        low, high : float
        """
        return low + (high - low) * self.share()

    def frame(self, d: int, k: int) -> Array:
        """Return a matrix with orthonormal columns, by QR, shape (d, k).

        Parameters
        ----------
        d, k : int
        """
        return np.linalg.qr(self.numbers(d, k))[0]


def search_instances(
    sides: Callable[..., tuple[float, ...] | None],
    shapes: Sequence[Mapping[str, int]],
    read: Callable[[Reader, Mapping[str, int]], Any] | Mapping[str, Sequence[str | int]],
    budget: Budget,
    rng: np.random.Generator,
    *,
    reader: type[Reader] = Reader,
    known: Sequence[tuple[Mapping[str, int], Array]] = (),
    guard: float = GUARD,
    **options: Any,
) -> Search:
    """Look for a violation of lhs <= rhs.

    Parameters
    ----------
    sides : callable
        ``sides(instance)`` returns lhs and rhs, or None where the instance does not satisfy the
        hypotheses. As a third number it may return the size of the largest term of which they are
        sums; by default that of the largest number read, 1 at least.
    shapes : sequence of mapping
        Sizes to search at, smallest first.
    read : callable or mapping
        ``read(reader, shape)`` returns an instance, such as a NamedTuple, of numbers that it reads,
        or None where they give none. How many it reads depends on the shape alone. Or the shapes of
        arrays by name, in names of sizes and whole numbers, as in ``{"A": ("d", 2), "c": ()}``:
        `sides` then takes these arrays, and numbers for those without sizes, by name.
    budget : Budget
    rng : numpy.random.Generator
    reader : type of Reader
        What reads.
    known : sequence of (mapping, ndarray), optional
        Instances to start from besides random ones: each a shape and the numbers to read.
    guard : float
        What rounding may do to lhs - rhs, relative to the sum of their sizes.
    **options
        `name`, `quantity` and others of :class:`linrep.claims.Search`.

    Returns
    -------
    Search
        With a violation if lhs - rhs, relative to the sum of their sizes, exceeds `guard`
        somewhere, and 1e-13 relative to their largest term, also after the instance is moved by
        rounding; it is shrunk to few and short numbers. A smaller excess counts as equality. Beside
        the violation, or where there is none, the instance of the largest lhs/rhs that was met.
        Instances are given by the names of their parts: fields of a NamedTuple or a dataclass, keys
        of a mapping.

    Raises
    ------
    ValueError
        If no instance satisfies the hypotheses, or both sides are below rounding at all of them.

    Notes
    -----
    Three searches: random normal instances over five orders of magnitude; local ascent (Nelder-Mead
    and Powell) from the best of them; and Hypothesis on quarters of whole numbers, which shrinks
    what it finds.

    Examples
    --------
    >>> from linrep.claims import Budget, decide
    >>> def sides(A, x):
    ...     return np.linalg.norm(A @ x), np.linalg.norm(A) * np.linalg.norm(x)
    >>> arrays = {"A": ("d", "d"), "x": ("d",)}
    >>> rng = np.random.default_rng(0)
    >>> found = search_instances(sides, [{"d": 1}, {"d": 2}], arrays, Budget(), rng)
    >>> decide(found).verdict, sorted(found.worst)
    ('holds', ['A', 'd', 'left', 'right', 'x'])
    """
    if isinstance(read, Mapping):
        return search_instances(
            lambda arrays: sides(**arrays), shapes, _reading(read), budget, rng,
            reader=reader, known=known, guard=guard, **options,
        )  # fmt: skip
    if not shapes:
        raise ValueError("shapes must hold at least one")
    reads: Callable[[Reader, Mapping[str, int]], Any] = read

    def lhs_rhs(shape, x):
        instance = reads(reader(x), shape)
        return None if instance is None else sides(instance)

    def length(shape):
        counting = reader()
        reads(counting, shape)
        return counting.count

    ratios: list[float] = []
    equal = 0
    visible = small = False
    best: tuple[float, Mapping[str, int] | None, Array]
    best = -math.inf, None, np.empty(0)
    # By lhs/rhs, and among those of one ratio by the excess.
    worst: tuple[tuple[float, float], Mapping[str, int], Array]
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
            try:
                values = _parts(reads(reader(x), shape))
            except _Unnamed:
                values = {"x": x.tolist()}
        return {**shape, **values, "left": float(left), "right": float(right)}

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
            "no instance satisfies the hypotheses: at all of them sides() returns None, NaN or "
            "an infinite rhs"
        )
    if small and not visible:
        raise ValueError(
            "at all instances both sides are below the rounding of their terms: as a third number "
            "sides() has to return the size of the largest term"
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


def _reading(arrays):
    """Return what reads arrays by name, whose shapes are in names of sizes and whole numbers."""
    if not arrays:
        raise ValueError("read must name at least one array, got none")

    def read(reader, shape):
        found = {}
        for name, sizes in arrays.items():
            unknown = [size for size in sizes if isinstance(size, str) and size not in shape]
            if unknown:
                raise ValueError(f"read: shapes have no size {unknown[0]!r}, which {name} takes")
            numbers = reader.numbers(*(shape.get(size, size) for size in sizes))
            found[name] = numbers if sizes else float(numbers)
        return found

    return read


class _Unnamed(Exception):
    """An instance has a part that plain values do not say."""


def _parts(item):
    """Return the parts of an instance as plain values by name, those of a part behind a dot."""
    if hasattr(item, "_asdict"):
        item = item._asdict()
    elif is_dataclass(item):
        item = {each.name: getattr(item, each.name) for each in fields(item)}
    elif not isinstance(item, Mapping):
        return {"x": _plain(item)}
    found: dict[str, Any] = {}
    for name, part in item.items():
        if hasattr(part, "_asdict") or is_dataclass(part) or isinstance(part, Mapping):
            found |= {f"{name}.{inner}": value for inner, value in _parts(part).items()}
        else:
            found[name] = _plain(part)
    return found


def _plain(value):
    """Return a number, a text or an array as plain values."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _Unnamed


@dataclass(frozen=True, eq=False)
class _Enclosed(Condition):
    """What was found by :func:`everywhere`: a check can ask for it, and cannot say it."""

    def _ground(self):
        return INTERVALS


def everywhere(
    lhs: Callable[..., Any],
    rhs: Callable[..., Any],
    region: Mapping[str, tuple[Fraction | int, Fraction | int]],
    *,
    boxes: int = 20_000,
    **options: Any,
) -> Condition | Missing:
    """Certify that lhs <= rhs on a box, or find a point of it where lhs > rhs.

    The box is cut in two, where it is longest, until the inequality is certain on each piece.

    Parameters
    ----------
    lhs, rhs : callable
        Of the variables by name, as `flint.arb` numbers: arithmetic, powers and methods such as
        ``x.log()``, ``x.exp()``, ``x.sqrt()``.
    region : mapping of str to (number, number)
        The ends of each variable: whole numbers or fractions. A range without end has to be mapped
        to one that has, such as x to 1/x.
    boxes : int
        How many are looked at before it is given up. Where both sides meet in a point, no number is
        enough: divide by what vanishes there.
    **options
        `name`, `quantity`, `setting` of the measurement; ``strength="proved"`` where it is a step
        of a derivation, and not what the statement says.

    Returns
    -------
    Condition or Missing
        Certified, or an exact counterexample: `measured` is an upper bound of the largest
        lhs - rhs, or a lower one of that of the point. Missing where it was given up.

    Raises
    ------
    ValueError
        If an end of the region is below the other.
    """
    from flint import arb, fmpq

    def ball(low, high):
        low, high = (arb(fmpq(end.numerator, end.denominator)) for end in (low, high))
        return low.union(high)

    def excess(box):
        at = {name: ball(*ends) for name, ends in box.items()}
        return lhs(**at) - rhs(**at)

    whole = {name: (Fraction(low), Fraction(high)) for name, (low, high) in region.items()}
    for name, (low, high) in whole.items():
        if low > high:
            raise ValueError(f"region of {name}: the lower end {low} is above the upper one {high}")
    options = {"quantity": "lhs - rhs", **options}
    settled = -float("inf")
    pending: list[tuple[float, int, dict[str, tuple[Fraction, Fraction]]]] = []
    looked = 0

    def look(box):
        nonlocal settled, looked
        looked += 1
        difference = excess(box)
        if difference <= 0:
            settled = max(settled, float(difference.upper()))
        else:
            heappush(
                pending,
                (-float(difference.upper()) if difference.is_finite() else -1e300, looked, box),
            )

    look(whole)
    while pending and looked < boxes:
        *_, box = heappop(pending)
        middle = {name: (low + high) / 2 for name, (low, high) in box.items()}
        point = excess({name: (value, value) for name, value in middle.items()})
        if point > 0:
            setting = {**options.pop("setting", {}), **{name: str(x) for name, x in middle.items()}}
            return _Enclosed(
                False, float(point.lower()), 0.0, n_trials=looked, setting=setting,
                measured_is=LOWER, **options,
            )  # fmt: skip
        longest = max(box, key=lambda name: box[name][1] - box[name][0])
        low, high = box[longest]
        for ends in ((low, middle[longest]), (middle[longest], high)):
            look({**box, longest: ends})
    if pending:
        return Missing(
            why=f"{len(pending)} pieces of the region are left after {looked}",
            needed="a bound that is not attained, or more pieces", **options,
        )  # fmt: skip
    return _Enclosed(True, settled, 0.0, n_trials=looked, measured_is=UPPER, **options)
