"""Entries fitted with a ridge on both factors, and the ridge chosen by entries held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.clock import Stopwatch
from linrep.algorithms._imc_biases import Biases, fit_biases
from linrep.algorithms._imc_core import Core, factors_of
from linrep.algorithms._imc_joint import ADDED, MARGIN, Joint, balance
from linrep.problems.completion import Observations

Values = NDArray[np.float64]

HELD_OUT = 0.1
SEED = 0  # of the entries held out
_FEWEST = 20  # entries of which a share is held out
_RATIO = 0.5**0.5  # of a ridge and the one before
_STEPS = 24  # ridges below the one that leaves no factors
_PATIENCE = 2  # ridges in a row without a smaller error, after which none smaller is tried
_ROUNDS = 5  # of factors and biases by turns at the ridge that is taken
_ROUGH = 1e-4  # relative decrease at which a fit ends that only chooses


class Path(NamedTuple):
    """Fits with ever smaller ridges, each begun at the one before.

    Those of entries without side information are ``joint`` ones, if there are factors.
    """

    largest: Callable[[Core], float]  # ridge that is taken where nothing speaks for a smaller one
    grid: Callable[[Core], Values]  # ridges, decreasing
    fit: Callable[[Core, Values, Values, float], tuple[Values, Values]]
    joint: Callable[..., Joint] | None = None


class Plan(NamedTuple):
    """What is fitted: entries less biases, and with which ridge."""

    core: Core
    ridge: float
    biases: Biases | None
    settings: dict[str, Any]
    watch: Stopwatch
    joint: Joint | None = None


def make_plan(
    observations: Observations, k: int | None, ridge: float | None, biases: bool | None, path: Path,
    bar: Any = None,
) -> Plan:  # fmt: skip
    """Read ridge and biases, or take what suits the entries.

    Entries of a known truth are fitted without either. Of others biases are taken off, and a ridge
    is chosen along the path. With a ridge, biases and factors are fitted together, or by turns
    where there is side information: biases alone take a part of what factors explain for effects of
    items and clients.
    """
    watch = Stopwatch()
    core = Core(observations, k)  # refuses what cannot be fitted
    ridge, with_biases, rule = read_choices(observations, ridge, biases)
    settings: dict[str, Any] = {"ridge_rule": rule, "biases": with_biases}
    if rule == "held out":
        settings["ridge_seed"] = SEED
    joint, found = None, None
    if path.joint and ridge != 0.0 and observations.A is None and observations.Z is None:
        joint = path.joint(observations, with_biases, bar)
        if ridge is None:
            ridge = choose_jointly(joint, path.joint)
        if not joint.negligible():
            joint.refit(ridge)
            joint.estimate_units()
        found = joint.biases
    elif with_biases:
        found = fit_biases(observations)
    if found is not None:
        core = Core(observations, core.k, observations.values - found.predict(observations))
    if joint is None:
        if ridge is None:
            ridge = choose(observations, core, with_biases, path)
        if found is not None and ridge > 0.0 and len(grid := path.grid(core)):
            some = [*(each for each in grid if each > ridge), *_ROUNDS * [ridge]]
            for _, _, _, refined in by_turns(observations, core, found, path, some):
                found = refined
    assert ridge is not None
    return Plan(core, ridge, found, {"ridge": ridge, **settings}, watch, joint)


def read_choices(
    observations: Observations, ridge: float | None, biases: bool | None
) -> tuple[float | None, bool, str]:
    """Return the ridge, None to choose it, whether to fit biases, and the ridge's rule."""
    known = observations.truth is not None
    if biases is not None and not isinstance(biases, bool | np.bool_):
        raise TypeError(f"biases must be True, False or None, got {biases!r}")
    with_biases = not known if biases is None else bool(biases)
    if ridge is not None:
        return check.real("ridge", ridge, minimum=0.0), with_biases, "given"
    return (0.0, with_biases, "none") if known else (None, with_biases, "held out")


def choose(observations: Observations, core: Core, biases: bool, path: Path) -> float:
    """Return the ridge with the least squared error at a tenth of the entries, held out.

    Of ridges that are equally good the largest.
    """

    def fits(training, held):
        values, found = training.values, None
        guess = np.zeros(len(held))
        if biases:
            found = fit_biases(training)
            values, guess = values - found.predict(training), found.predict(held)
        yield largest, guess
        part = Core(training, core.k, values)
        for ridge, U, V, biased in by_turns(training, part, found, path, path.grid(part)):
            on_items = part.left.whole(U)[held.items]
            on_clients = part.right.whole(V)[held.clients]
            guess = np.einsum("ek,ek->e", on_items, on_clients)
            yield ridge, guess if biased is None else guess + biased.predict(held)

    largest = path.largest(core)
    return _best(observations, largest, fits)


def choose_jointly(joint: Joint, make: Callable[..., Joint]) -> float:
    """Return the same for fits without side information."""

    def fits(training, held):
        part = make(training, joint.biased, joint.bar)
        yield largest, part.predict(held)
        if not part.negligible():
            for ridge in part.largest() * _RATIO ** np.arange(1, _STEPS + 1):
                part.refit(ridge)
                yield ridge, part.predict(held)

    largest = float(np.linalg.norm(joint.observations.values))
    if not joint.negligible():
        largest = joint.largest()
    return _best(joint.observations, largest, fits)


def _best(observations, largest, fits):
    """Return the ridge of the least error: fits yield ridges and what they predict for entries."""
    if len(observations) < _FEWEST:
        return largest
    training, held = observations.split(HELD_OUT, rng=SEED)
    if not training.values.any():
        return largest
    least, best, since = np.inf, largest, 0
    for ridge, predicted in fits(training, held):
        error = float(np.sum(np.square(held.values - predicted)))
        if error < least:
            least, best, since = error, float(ridge), 0
        else:
            since += 1
            if since == _PATIENCE:
                break
    return best


def by_turns(
    observations: Observations, core: Core, found: Biases | None, path: Path, some: Iterable[float]
) -> Iterator[tuple[float, Values, Values, Biases | None]]:
    """Yield some ridges with their factors and, where there are biases, those of what is left.

    The core's values are then the entries less these.
    """
    U, V = np.zeros((core.shape[0], 0)), np.zeros((core.shape[1], 0))
    for ridge in some:
        U, V = path.fit(core, U, V, ridge)
        if found is not None:
            found = fit_biases(observations, observations.values - core.predict(U, V))
            core.fit_values(observations.values - found.predict(observations))
        yield ridge, U, V, found


def largest_ridge(core: Core) -> float:
    """Return the least ridge for which factors of 0 are the best, positive in any case."""
    if negligible(core):
        return core.size
    return float(core.leading(core.values, 1)[1][0])


def negligible(core: Core) -> bool:
    """Tell whether biases explain everything but rounding."""
    return float(np.linalg.norm(core.values)) <= 1e-12 * core.size


def factor_path(rank: int | None) -> Path:
    """Return fits of at most this rank."""

    def grid(core):
        if negligible(core):
            return np.zeros(0)
        return largest_ridge(core) * _RATIO ** np.arange(1, _STEPS + 1)

    def fit(core, U, V, ridge):
        for new in alternate(core, U, V, ridge, rank, _ROUGH):
            U, V = new
        return U, V

    return Path(largest_ridge, grid, fit, partial(Joint, rank))


def core_path() -> Path:
    """Return fits of the whole core, with ridges on its entries.

    Without side information none: what is not seen is 0 whatever the ridge.
    """

    def largest(core):
        return 0.0 if core.left.basis is None and core.right.basis is None else core.curvature()

    def grid(core):
        if not largest(core):
            return np.zeros(0)
        return largest(core) * _RATIO ** (2 * np.arange(_STEPS))

    def fit(core, U, V, ridge):
        return factors_of(core.least_squares(ridge))

    return Path(largest, grid, fit)


def soft_spectral(core: Core, ridge: float) -> tuple[Values, Values]:
    """Return factors of the leading part of the zero-filled entries, shrunk by the ridge."""
    assert core.k is not None
    if negligible(core):
        return np.zeros((core.shape[0], core.k)), np.zeros((core.shape[1], core.k))
    left, size, right = core.leading(core.values, core.k)
    # Not to 0, which every method would keep.
    root = np.sqrt(np.maximum(size - ridge, 0.1 * size))
    return left * root, right * root


def alternate(
    core: Core, U: Values, V: Values, ridge: float, rank: int | None, tolerance: float
) -> Iterator[tuple[Values, Values]]:
    """Yield factors after every least-squares fit of both with a positive ridge.

    With as many columns as pay, at most ``rank``: the minimizer of half the squared error plus the
    ridge times the nuclear norm has no singular value of the residuals above the ridge (Mazumder,
    Hastie and Tibshirani, *Spectral regularization algorithms for learning large incomplete
    matrices*, 2010); where there is one, its vectors are new columns. By turns in both factors as
    in Hastie, Mazumder, Lee and Zadeh, *Matrix completion and low-rank SVD via fast alternating
    least squares*, 2015.
    """
    rank = min(core.shape) if rank is None else rank
    stationary = False
    while True:
        U, V = balance(U, V)
        room = rank - U.shape[1]
        pays = np.zeros(0, dtype=bool)
        if room > 0:
            some = min(room, max(ADDED, U.shape[1]))
            left, size, right = core.leading(-core.residuals(U, V), some)
            pays = size > ridge * (1.0 + MARGIN)
            root = np.sqrt(size[pays] - ridge)
            U, V = np.hstack([U, left[:, pays] * root]), np.hstack([V, right[:, pays] * root])
        if U.shape[1] == 0 or (stationary and not pays.any()):
            return
        # While columns are still to come, those that are there need not be perfect.
        growing = bool(pays.any()) and U.shape[1] < rank
        goal = max(tolerance, _ROUGH) if growing else tolerance
        before = core.objective(U, V, ridge)
        while True:
            U = core.left.fit(core.right.seen(V), core.values, ridge)
            V = core.right.fit(core.left.seen(U), core.values, ridge)
            yield U, V
            after = core.objective(U, V, ridge)
            if before - after <= goal * before:
                break
            before = after
        stationary = not growing
