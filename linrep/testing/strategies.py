"""Hypothesis strategies for problems, data and starts.

Sizes and kinds are drawn, and a seed that all other numbers follow from: examples shrink towards
one client, one dimension, rank 1 and seed 0, and of one that fails the lines that make it are
printed, to be pasted. A size is a whole number or a range (lowest, highest). By default ranges hold
the edge shapes: one client, k = d, fewer samples than k, clients of different sizes, no noise,
equal singular values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import SearchStrategy
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep.algorithms import (
    gaussian_start,
    moments_start,
    projected_gradient_start,
    random_start,
)
from linrep.problems import (
    BiasedRegression,
    ClientData,
    LowRankRegression,
    Objectives,
    Observations,
    SharedRepresentation,
    SideInformationCompletion,
    personal,
)
from linrep.problems.random import RNGLike, generator
from linrep.problems.subspace import frame_at_distance

Values = NDArray[np.float64]
Size = int | tuple[int, int]
Regression = SharedRepresentation | LowRankRegression
Problem = Regression | ClientData | SideInformationCompletion | Observations | Objectives
Pair = tuple[Values, Values]

COVARIATES = ("drawn", "repeated", "zero column")
LOSSES = ("quadratic", "least_squares", "logistic", "softmax", "flipped labels", "masked")
SIDES = ("gaussian", "unit", "isometric", "one-hot")
#: Entries of the start that is small.
_SMALL = 1e-3


def seeds() -> SearchStrategy[int]:
    """Return a strategy for seeds; they shrink towards 0."""
    return st.integers(0, 2**32 - 1)


@st.composite
def shared_representations(
    draw: Any,
    *,
    n: Size = (1, 6),
    d: Size = (1, 8),
    k: Size = (1, 4),
    heads: Sequence[str] = ("scaled_qr", "sphere", "unit_rows", "qr"),
    conditions: Sequence[float | None] = (None, 1.0, 10.0),
    noise: Sequence[float] = (0.0, 0.1),
    designs: Sequence[str] = ("gaussian",),
) -> SharedRepresentation:
    """Return a strategy for ground truths with a shared representation.

    Parameters
    ----------
    n, d, k : int or (int, int)
        Clients, dimension, rank; k is at most min(n, d).
    heads, conditions, noise, designs : sequence
        What to choose from for :meth:`linrep.SharedRepresentation.random`; the first is the
        simplest. All condition numbers are 1 for k = 1.

    Returns
    -------
    SearchStrategy of SharedRepresentation
    """
    clients, dimension = _draw(draw, "n", n), _draw(draw, "d", d)
    rank = _draw(draw, "k", k, most=min(clients, dimension))
    condition = draw(st.sampled_from(conditions))
    return _make(
        "truth = lr.SharedRepresentation.random",
        SharedRepresentation.random,
        n=clients,
        d=dimension,
        k=rank,
        heads=draw(st.sampled_from(heads)),
        condition=condition if condition is None or rank > 1 else 1.0,
        noise=draw(st.sampled_from(noise)),
        design=draw(st.sampled_from(designs)),
        rng=draw(seeds()),
    )


@st.composite
def low_rank_regressions(
    draw: Any,
    *,
    n: Size = (1, 6),
    d: Size = (1, 8),
    rank: Size = (1, 4),
    ratios: Sequence[float] = (1.0, 0.5),
    noise: Sequence[float] = (0.0, 0.1),
    designs: Sequence[str] = ("gaussian",),
) -> LowRankRegression:
    """Return a strategy for ground truths whose matrix of models has a low rank.

    Parameters
    ----------
    n, d, rank : int or (int, int)
        Clients, dimension, and the number of singular values, at most min(n, d).
    ratios : sequence of float
        Of each singular value to the next larger one, the first of which is 1; with ratio 1 all
        are equal.
    noise, designs : sequence
        What to choose from for :meth:`linrep.LowRankRegression.random`.

    Returns
    -------
    SearchStrategy of LowRankRegression
    """
    clients, dimension = _draw(draw, "n", n), _draw(draw, "d", d)
    count = _draw(draw, "rank", rank, most=min(clients, dimension))
    return _make(
        "truth = lr.LowRankRegression.random",
        LowRankRegression.random,
        n=clients,
        d=dimension,
        singular_values=_geometric(draw(st.sampled_from(ratios)), count),
        noise=draw(st.sampled_from(noise)),
        design=draw(st.sampled_from(designs)),
        rng=draw(seeds()),
    )


@st.composite
def completions(
    draw: Any,
    *,
    n: Size = (1, 6),
    d: Size = (1, 6),
    p: Size = (1, 4),
    k: Size = (1, 3),
    sides: Sequence[str] = SIDES,
    ratios: Sequence[float] = (1.0, 0.5),
    noise: Sequence[float] = (0.0, 0.1),
) -> SideInformationCompletion:
    """Return a strategy for matrices whose columns side information predicts.

    Parameters
    ----------
    n, d, p, k : int or (int, int)
        Clients, items, dimension of the side information, rank, at most min(d, p). With side
        information "one-hot" p is n, with "isometric" at most n.
    sides, noise : sequence
        What to choose from for :meth:`linrep.SideInformationCompletion.random`.
    ratios : sequence of float
        Of singular values, as in :func:`low_rank_regressions`.

    Returns
    -------
    SearchStrategy of SideInformationCompletion
    """
    clients, items = _draw(draw, "n", n), _draw(draw, "d", d)
    side = draw(st.sampled_from(sides))
    if side == "one-hot":
        dimension = clients
    else:
        dimension = _draw(draw, "p", p, most=clients if side == "isometric" else None)
    rank = _draw(draw, "k", k, most=min(items, dimension))
    return _make(
        "truth = lr.SideInformationCompletion.random",
        SideInformationCompletion.random,
        n=clients,
        d=items,
        p=dimension,
        k=rank,
        side=side,
        singular_values=_geometric(draw(st.sampled_from(ratios)), rank),
        noise=draw(st.sampled_from(noise)),
        rng=draw(seeds()),
    )


@st.composite
def observations(
    draw: Any,
    truths: SearchStrategy[SideInformationCompletion] | None = None,
    *,
    per_client: Size = (1, 6),
) -> Observations:
    """Return a strategy for observed entries of such matrices.

    Parameters
    ----------
    truths : strategy, optional
        By default :func:`completions`.
    per_client : int or (int, int)
        Items of every client, at most d.

    Returns
    -------
    SearchStrategy of Observations
    """
    truth = draw(completions() if truths is None else truths)
    size = _draw(draw, "per_client", per_client, most=truth.d)
    return _make("observations = truth.observe", truth.observe, per_client=size, rng=draw(seeds()))


@st.composite
def biased_regressions(
    draw: Any,
    *,
    n: Size = (1, 6),
    d: Size = (1, 6),
    p: Size = (1, 4),
    sides: Sequence[str] = ("gaussian", "unit"),
    explained: Sequence[float] = (1.0, 0.5, 0.0),
    noise: Sequence[float] = (0.0, 0.1),
) -> BiasedRegression:
    """Return a strategy for regressions with one vector for all and a bias for each client.

    Parameters
    ----------
    n, d, p : int or (int, int)
        Clients, dimension of the covariates and of the side information.
    sides, explained, noise : sequence
        What to choose from for :meth:`linrep.BiasedRegression.random`; side information explains
        all where n is at most p.

    Returns
    -------
    SearchStrategy of BiasedRegression
    """
    clients, dimension = _draw(draw, "n", n), _draw(draw, "p", p)
    share = draw(st.sampled_from(explained))
    return _make(
        "truth = lr.BiasedRegression.random",
        BiasedRegression.random,
        n=clients,
        d=_draw(draw, "d", d),
        p=dimension,
        side=draw(st.sampled_from(sides)),
        explained=share if clients > dimension else 1.0,
        noise=draw(st.sampled_from(noise)),
        rng=draw(seeds()),
    )


@st.composite
def client_data(
    draw: Any,
    truths: SearchStrategy[Regression] | None = None,
    *,
    m: Size = (1, 9),
    ragged: bool | None = None,
    covariates: Sequence[str] = COVARIATES,
) -> ClientData:
    """Return a strategy for clients' samples of linear regression, with their truth.

    Parameters
    ----------
    truths : strategy, optional
        By default :func:`shared_representations`.
    m : int or (int, int)
        Samples per client.
    ragged : bool, optional
        Whether each client has a number of samples of its own; by default both occur.
    covariates : sequence of {"drawn", "repeated", "zero column"}
        What to choose from for :func:`draw_client_data`.

    Returns
    -------
    SearchStrategy of ClientData
    """
    truth = draw(shared_representations() if truths is None else truths)
    if draw(st.booleans()) if ragged is None else ragged:
        sizes: Any = [_draw(draw, "m", m) for _ in range(truth.n)]
    else:
        sizes = _draw(draw, "m", m)
    return _make(
        "data = draw_client_data",
        partial(draw_client_data, truth),
        "truth",
        m=sizes,
        covariates=draw(st.sampled_from(covariates)),
        rng=draw(seeds()),
    )


def draw_client_data(
    truth: Regression, m: int | ArrayLike, *, covariates: str = "drawn", rng: RNGLike = None
) -> ClientData:
    """Draw samples, including some that no distribution would draw.

    Parameters
    ----------
    truth : SharedRepresentation or LowRankRegression
    m : int or array_like of int, shape (n,)
        Samples per client.
    covariates : {"drawn", "repeated", "zero column"}
        As the truth draws them; each client's first two are equal; the first column is zero.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    ClientData
        With the truth, which the labels follow.
    """
    check.choice("covariates", covariates, COVARIATES)
    data = truth.draw(m, rng=rng)
    if covariates == "drawn":
        return data
    X = data.X.copy()
    if covariates == "zero column":
        X[:, 0] = 0.0
    else:
        first = data.offsets[:-1]
        X[np.minimum(first + 1, data.offsets[1:] - 1)] = X[first]
    models = np.repeat(truth.theta, data.m, axis=0)
    y = data.y + np.sum((X - data.X) * models, axis=1)
    return ClientData(X, y, data.offsets, truth=truth)


@st.composite
def objectives(
    draw: Any,
    *,
    n: Size = (1, 6),
    d: Size = (1, 5),
    clusters: Size = (1, 3),
    m: Size = (1, 6),
    losses: Sequence[str] = LOSSES,
    ridge: Sequence[float] = (0.0, 0.1),
) -> Objectives:
    """Return a strategy for the functions that personalized models minimize.

    Parameters
    ----------
    n, d, clusters, m : int or (int, int)
        Clients, dimension, clusters, at most n, and samples per client.
    losses : sequence of str
        Among those of :func:`linrep.problems.personal.clustered`, and "flipped labels" and
        "masked", which are the functions of that name there.
    ridge : sequence of float
        Of the losses of samples.

    Returns
    -------
    SearchStrategy of Objectives
    """
    clients, dimension = _draw(draw, "n", n), _draw(draw, "d", d)
    loss = draw(st.sampled_from(losses))
    if loss == "masked":
        shape = (clients, dimension)
        ratings = arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
        return _make(
            "problem = lr.problems.personal.masked",
            personal.masked,
            ratings=draw(ratings).tolist(),
            mask=draw(arrays(bool, shape)).tolist(),
        )
    common = {"n": clients, "d": dimension, "rng": draw(seeds())}
    if loss != "quadratic":
        common |= {"m": _draw(draw, "m", m), "ridge": draw(st.sampled_from(ridge))}
    if loss == "flipped labels":
        kind = "problem = lr.problems.personal.flipped_labels"
        return _make(kind, personal.flipped_labels, **common)
    groups = _draw(draw, "clusters", clusters, most=clients)
    kind = "problem = lr.problems.personal.clustered"
    return _make(kind, personal.clustered, clusters=groups, loss=loss, **common)


@st.composite
def starts(
    draw: Any, problem: Problem, *, k: int | None = None, kinds: Sequence[str] | None = None
) -> Pair:
    """Return a strategy for starts of a problem: pairs that all algorithms take as `start`.

    Parameters
    ----------
    problem : problem, data or objectives
    k : int, optional
        Rank, by default the truth's, and 1 where there is none.
    kinds : sequence of str, optional
        What to choose from for :func:`draw_start`; by default all that the problem has.

    Returns
    -------
    SearchStrategy of (ndarray, ndarray)
    """
    rank = _rank(problem, k)
    known = _kinds(problem, rank)
    chosen = [kind for kind in known if kinds is None or kind in kinds]
    if not chosen:
        raise ValueError(f"kinds must have one of {', '.join(known)} for this problem")
    return _make(
        "start = draw_start",
        partial(draw_start, problem),
        _name(problem),
        kind=draw(st.sampled_from(chosen)),
        k=rank,
        rng=draw(seeds()),
    )


def with_starts(
    problems: SearchStrategy[Any], *, k: int | None = None, kinds: Sequence[str] | None = None
) -> SearchStrategy[tuple[Any, Pair]]:
    """Return a strategy for pairs of a problem and a start of it.

    Parameters
    ----------
    problems : strategy
    k, kinds
        As in :func:`starts`.

    Returns
    -------
    SearchStrategy of (problem, (ndarray, ndarray))
    """
    return problems.flatmap(
        lambda problem: st.tuples(st.just(problem), starts(problem, k=k, kinds=kinds))
    )


def draw_start(problem: Problem, kind: str, *, k: int | None = None, rng: RNGLike = None) -> Pair:
    """Draw a start: a basis (d, k), and heads (n, k), or (p, k) where side information makes them.

    Parameters
    ----------
    problem : problem, data or objectives
    kind : str
        - "random": a random frame and normal heads;
        - "small": normal entries of standard deviation 1e-3;
        - "zero heads": a random frame;
        - "truth": factors of the truth, of its best approximation of rank k, or of the objectives'
          optimum, where that is known;
        - "orthogonal to the truth": a frame at distance 1 in all directions, normal heads;
        - "moments", "projected gradient": FedRep's, of samples; the first with normal heads;
        - "spectral": factors of the clients' own minimizers, of objectives.
    k : int, optional
        Rank, by default the truth's, and 1 where there is none.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    B, W : ndarray
    """
    k = _rank(problem, k)
    check.choice("kind", kind, _kinds(problem, k))
    return _kinds(problem, k)[kind](generator(rng))


def _kinds(problem, k) -> dict[str, Callable[[np.random.Generator], Pair]]:
    """Return how a problem can be started, by kind."""
    d = problem.d
    rows = _rows(problem)
    found: dict[str, Callable[[np.random.Generator], Pair]] = {
        "random": lambda rng: random_start(rows, d, k, rng),
        "small": lambda rng: gaussian_start(rows, d, k, _SMALL, rng),
        "zero heads": lambda rng: (random_start(rows, d, k, rng)[0], np.zeros((rows, k))),
    }
    truth = _truth(problem, k)
    if truth is not None:
        found["truth"] = lambda rng: truth
        if d >= 2 * k:
            found["orthogonal to the truth"] = lambda rng: (
                frame_at_distance(truth[0], 1.0, rng=rng), rng.standard_normal((rows, k))
            )  # fmt: skip
    if isinstance(problem, ClientData):
        found["moments"] = lambda rng: (
            moments_start(problem, k), rng.standard_normal((rows, k))
        )  # fmt: skip
        found["projected gradient"] = lambda rng: projected_gradient_start(problem, k)
    if isinstance(problem, Objectives):
        found["spectral"] = lambda rng: _factors(problem.minimizers, k)
    return found


def _truth(problem, k) -> Pair | None:
    """Return factors of rank k of what is looked for, None where that is not known."""
    if isinstance(problem, ClientData | Observations):
        problem = problem.truth
    if isinstance(problem, SideInformationCompletion):
        return (problem.U, problem.V) if k == problem.k else None
    if isinstance(problem, Objectives):
        best = problem.best(k)
        return None if best is None else _factors(best.theta, k)
    return None if problem is None else _factors(problem.theta, k)


def _factors(theta, k) -> Pair:
    """Return a frame (d, k) and heads (n, k) of the best approximation of rank k of models."""
    left, s, right = np.linalg.svd(theta, full_matrices=False)
    return np.ascontiguousarray(right[:k].T), left[:, :k] * s[:k]


def _rank(problem, k) -> int:
    """Return the rank that is asked for, by default the truth's, and 1 where there is none."""
    if k is None:
        truth = getattr(problem, "truth", problem)
        if isinstance(truth, LowRankRegression):
            k = int(np.count_nonzero(truth.singular_values > 1e-12 * truth.singular_values[0]))
        else:
            k = getattr(truth, "k", 1)
    return check.integer("k", k, minimum=1, maximum=min(problem.d, _rows(problem)))


def _rows(problem) -> int:
    """Return the number of heads: that of clients, or of the numbers that are known of each."""
    Z = getattr(problem, "Z", None)
    return problem.n if Z is None else Z.shape[1]


def _make(call, function, *names, **settings):
    """Call a function, and note the line that does it: Hypothesis prints it with a failure."""
    given = ", ".join((*names, *(f"{name}={value!r}" for name, value in settings.items())))
    note(f"{call}({given})")
    return function(**settings)


def _name(problem) -> str:
    """Return what the line that makes a problem calls it."""
    if isinstance(problem, ClientData):
        return "data"
    if isinstance(problem, Observations):
        return "observations"
    return "problem" if isinstance(problem, Objectives) else "truth"


def _geometric(ratio, count) -> list[float]:
    """Return 1, ratio, ratio^2 and so on."""
    return [float(ratio) ** place for place in range(count)]


def _draw(draw, name, size, most=None) -> int:
    """Draw a size from its range, cut off at what others leave room for."""
    low, high = (size, size) if isinstance(size, int) else size
    low = check.integer(name, low, minimum=1)
    high = check.integer(name, high, minimum=low)
    if most is not None:
        high = min(high, most)
        if low > high:
            raise ValueError(f"{name} must be at most {most} here, and its range begins at {low}")
    return draw(st.integers(low, high))
