"""ANIL and MAML on clients' linear regressions: a shared start from which one step adapts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep._lib.frozen import one_of, positive, read
from linrep.algorithms._schedule import Schedule
from linrep.algorithms._setup import (
    choose_batches,
    read_pair,
    read_problem,
    read_rank,
    start_name,
)
from linrep.algorithms.baselines.global_model import SharedModel
from linrep.algorithms.driver import begin, drive, each_way
from linrep.algorithms.errors import representation_errors
from linrep.algorithms.local import fit_heads
from linrep.algorithms.registry import algorithm
from linrep.algorithms.starts import TRUNCATION, truncated_spectrum
from linrep.algorithms.step_sizes import units_of
from linrep.kernels import meta as kernel
from linrep.problems import subspace
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.trace import Trace, read_rounds

__all__ = ["anil", "maml"]

BATCHES = ("fixed", "fresh", "split")
#: What the outer step is of 1/(alpha sigma^2), as FedRep's theorem has it, with exact inner steps.
_SHARE = 0.25


@algorithm("regression")
def anil(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | None = None,
    k: int | None = None,
    rounds: int = 100,
    first_order: bool = False,
    batches: str | None = None,
    inner_step_size: float | None = None,
    step_size: float | None = None,
    start: str | tuple[ArrayLike, ArrayLike] | Trace = "random",
    participation: float = 1.0,
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    r"""Run ANIL: clients adapt a shared head by one step; the server learns the initialization.

    .. math:: w_i = w - \alpha \nabla_w L_i^{(1)}(B, w), \qquad
              (B, w) \leftarrow (B, w) - \frac\beta{|I|} \sum_{i \in I}
              \nabla_{B, w}\, L_i^{(2)}(B, w_i)

    Parameters
    ----------
    problem : SharedRepresentation or ClientData
        A ground truth to draw from, or samples, at least two of every client.
    m : int, optional
        Samples per client and batch; with a SharedRepresentation only.
    k, rounds
    first_order : bool, default False
        Take the outer gradient at (B, w_i), and not through the inner step (FO-ANIL).
    batches : {"split", "fresh", "fixed"}, optional
        New samples in every round, of each client two batches of m (default with a
        SharedRepresentation), or one of m in two halves; or the same ones in two halves (default,
        and the only choice, with ClientData). The first half, rounded up, is for the inner step.
    inner_step_size : float, optional
        Step size alpha of the inner step; by default 1 for a truth. On data without one, where no
        step is given, 1/(2 s^2 sigma) with s^2 the mean square of the covariates and sigma as
        below, which keeps B and heads of similar size whatever the units of the data; 1/s^2 where
        `step_size` is given.
    step_size : float, optional
        Step size beta of the outer steps; by default 1/(4 s^4 alpha sigma^2) over 1 + (d + 1)/m,
        the mean square of a sample covariance of m normal samples, where sigma is the largest
        singular value of the clients' models over the root of n: the truth's, or the estimate of
        :func:`altgdmin`'s start; and s is 1 for a truth.
    start : "random", pair (B, w) or Trace
        By default B = Q (alpha s^2)^(-1/2), with Q uniform over orthonormal frames, and w = 0: then
        one inner step is exact where a client's covariates have the second moment s^2 I.
    participation, record, rng

    Returns
    -------
    Trace
        State ``B`` (d, k), ``w`` (k,) and, of stored samples, ``W`` (n, k): heads fitted to all of
        a client's samples. Metrics ``loss``, the mean outer loss of the round's participants, and,
        with a truth of rank k, ``distance``, of stored samples also ``population_risk``. B is not
        orthonormalized; distances are of its span.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, a client has one sample, or labels are all zero.

    Notes
    -----
    Collins, Mokhtari, Oh and Shakkottai, *MAML and ANIL provably learn representations*, 2022,
    whose analysis starts with alpha B'B near I and w small, of covariates
    of covariance I; the constants of the steps are linrep's. In terms of root(alpha) B, whose
    columns start orthonormal, the outer step is one of alpha beta with heads w_i / root(alpha), as
    FedRep's. With :math:`g^{(1)}, g^{(2)}` the losses' gradients in the model at B w and B w_i,
    :math:`u = B^\top g^{(2)}` and :math:`h = \frac1{m_1} X_1^\top X_1 B u`, exact outer gradients
    are :math:`g^{(2)} w_i^\top - \alpha g^{(1)} u^\top - \alpha h w^\top` in B and :math:`u -
    \alpha B^\top h` in w; first-order ones end before the first alpha.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=100, d=10, k=2, rng=0)
    >>> trace = lr.anil(truth, m=20, rounds=200, rng=1)
    >>> bool(trace["distance"][-1] < 0.1 * trace["distance"][0])
    True
    """
    batches = choose_batches(problem, "split") if batches is None else batches
    options = _Options(
        rounds=read_rounds(rounds, record), batches=batches, first_order=first_order,
        inner_step_size=inner_step_size, step_size=step_size, adapts_B=False,
    )  # fmt: skip
    return _run(
        problem, options, m=m, k=k, start=start, participation=participation, record=record,
        rng=rng,
    )  # fmt: skip


@algorithm("regression")
def maml(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | None = None,
    k: int | None = None,
    rounds: int = 100,
    first_order: bool = False,
    batches: str | None = None,
    inner_step_size: float | None = None,
    step_size: float | None = None,
    start: str | tuple[ArrayLike, ArrayLike] | Trace = "random",
    participation: float = 1.0,
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    r"""Run MAML: clients adapt B and the head by one step; the server learns the initialization.

    .. math:: (B_i, w_i) = (B, w) - \alpha \nabla L_i^{(1)}(B, w), \qquad
              (B, w) \leftarrow (B, w) - \frac\beta{|I|} \sum_{i \in I}
              \nabla_{B, w}\, L_i^{(2)}(B_i, w_i)

    Parameters
    ----------
    k, rounds, participation, record, rng
    problem, m, batches, inner_step_size, step_size, start
        As in :func:`anil`.
    first_order : bool, default False
        Take the outer gradient at (B_i, w_i), and not through the inner step (FO-MAML).

    Returns
    -------
    Trace
        As of :func:`anil`.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, a client has one sample, or labels are all zero.

    Notes
    -----
    Collins, Mokhtari, Oh and Shakkottai, *MAML and ANIL provably learn representations*, 2022. In
    the notation of :func:`anil`, now with :math:`u = B_i^\top g^{(2)}` and :math:`h = \frac1{m_1}
    X_1^\top X_1 (B u + w^\top w_i\, g^{(2)})`, exact outer gradients are :math:`g^{(2)} w_i^\top -
    \alpha g^{(1)} u^\top - \alpha h w^\top` in B and :math:`u - \alpha (g^{(1)\top} g^{(2)}) w_i -
    \alpha B^\top h` in w. With few samples relative to k, runs through the inner step diverge at
    the default outer step, and say so: choose a shorter one.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=100, d=10, k=2, rng=0)
    >>> trace = lr.maml(truth, m=20, rounds=200, first_order=True, rng=1)
    >>> bool(trace["distance"][-1] < 0.1 * trace["distance"][0])
    True
    """
    batches = choose_batches(problem, "split") if batches is None else batches
    options = _Options(
        rounds=read_rounds(rounds, record), batches=batches, first_order=first_order,
        inner_step_size=inner_step_size, step_size=step_size, adapts_B=True,
    )  # fmt: skip
    return _run(
        problem, options, m=m, k=k, start=start, participation=participation, record=record,
        rng=rng,
    )  # fmt: skip


@dataclass(frozen=True)
class _Options:
    """The settings of a run, checked."""

    rounds: int
    batches: str
    first_order: bool
    inner_step_size: float | None
    step_size: float | None
    adapts_B: bool  # whether clients adapt B, too, and not the head alone

    def __post_init__(self):
        read(self, batches=one_of(BATCHES), inner_step_size=positive, step_size=positive)

    @property
    def algorithm(self) -> str:
        """What its authors call it."""
        return ("FO-" if self.first_order else "") + ("MAML" if self.adapts_B else "ANIL")

    def drawn(self, m: int | None) -> int:
        """Return the samples that are drawn of a participant in every round."""
        if m is None or self.batches == "fixed":
            return 0
        if self.batches == "fresh" and m < 2:
            raise ValueError("m must be at least 2 with batches='fresh': a sample in each half")
        return int(m) * (2 if self.batches == "split" else 1)


class _Samples(NamedTuple):
    """Where a round's samples come from: stored ones, or a truth of which m are drawn."""

    truth: SharedRepresentation | None
    data: ClientData | None
    m: int
    rng: np.random.Generator

    @property
    def largest(self) -> int:
        """The most samples of a client."""
        return self.m if self.data is None else int(self.data.m.max())

    @property
    def inner(self) -> int:
        """The fewest samples that a client has for its inner step."""
        return ((self.m if self.data is None else int(self.data.m.min())) + 1) // 2

    def of(self, participants):
        """Return samples, and where among their clients the participants are."""
        if self.data is not None:
            return self.data, participants
        assert self.truth is not None
        drawn = self.truth.draw(self.m, rng=self.rng, clients=participants)
        return drawn, np.arange(len(participants))


class _Steps(NamedTuple):
    """The sizes of the inner and the outer steps, and by which rule the latter was found."""

    inner: float
    outer: float
    rule: str


def _run(problem, options: _Options, *, m, k, start, participation, record, rng) -> Trace:
    """Run ANIL or MAML."""
    watch = Stopwatch()
    begun = begin(problem, start, rng, "data", "participation", "start")
    data_rng, participation_rng, start_rng = begun.rngs
    truth, data, m = read_problem(problem, m, options.batches)
    if isinstance(truth, ImplicitRepresentation):
        raise ValueError("problem must be a truth that stores B*: samples of it are drawn")
    n, d = problem.n, problem.d
    k = read_rank(k, truth, n, d)
    participants = check.count_participants(n, participation)
    if data is None and options.batches == "fixed":
        data = truth.draw(m, rng=data_rng)
    samples = _Samples(truth, data, options.drawn(m), data_rng)
    if data is not None and data.m.min() < 2:
        raise ValueError("data must have at least two samples of every client, one in each half")
    square = units_of(data).covariates ** 2
    steps = _find_steps(options, samples, k, square, begun.before)
    if isinstance(start, str):
        check.choice("start", start, ("random",))
        B = subspace.random_frame(d, k, start_rng) / np.sqrt(steps.inner * square)
        w = np.zeros((k, 1))
    else:
        B, w = read_pair(_columns(start), "'random'", B=(d, k), w=(k, 1))
    schedule = Schedule(participation_rng, n, participants)
    rounds = _rounds(options, steps, samples, B.shape)
    method = _Meta((schedule, data_rng), B, w.ravel(), *rounds)

    return drive(
        method,
        algorithm=options.algorithm,
        rounds=options.rounds,
        record=record,
        settings={
            "problem": repr(problem), "m": m, "k": k, "rounds": options.rounds,
            "batches": options.batches, "first_order": options.first_order,
            "start": start_name(start), "participation": participation,
            "participants": participants, "inner_step_size": steps.inner,
            "step_size": steps.outer, "step_size_rule": steps.rule,
        },
        watch=watch,
        sent=each_way(participants * k * (d + 1)),
        begun=begun,
    )  # fmt: skip


def _columns(start):
    """Return a pair whose head is a column, as matrices are read; others as they are."""
    if isinstance(start, Trace):
        return start.state["B"], start.state["w"][:, None]
    if isinstance(start, tuple) and len(start) == 2:
        return start[0], np.asarray(start[1])[..., None]
    return start


def _find_steps(options: _Options, samples: _Samples, k, square, before) -> _Steps:
    """Return the steps of a run: what is given of them, and others by the models' size."""
    truth, data = samples.truth, samples.data
    inner, outer = options.inner_step_size, options.step_size
    if before is not None:
        inner, outer = before.settings.get("inner_step_size"), before.step_size
    if outer is not None:
        return _Steps(1.0 / square if inner is None else inner, outer, "given")
    if truth is not None:
        d, sigma = truth.d, truth.sigma_max()
    else:
        assert data is not None
        d, sigma = data.d, truncated_spectrum(data, k, TRUNCATION)[1] / square
    if not sigma > 0.0:
        raise ValueError("step_size must be given where labels, or heads, are all zero")
    if inner is None:
        inner = 1.0 if data is None or data.truth is not None else 1.0 / (2.0 * square * sigma)
    noisy = 1.0 + (d + 1.0) / samples.inner
    return _Steps(inner, _SHARE / (square**2 * inner * sigma**2 * noisy), "spectral")


def _rounds(options: _Options, steps: _Steps, samples: _Samples, shape):
    """Return a round, what is measured of the model, and what the trace keeps of it."""
    (d, k), data, truth = shape, samples.data, samples.truth
    work = kernel.workspace(k, d, samples.largest)
    inner = steps.inner, options.adapts_B, not options.first_order

    def update(BT, w, participants):
        seen, participants = samples.of(participants)
        loss = kernel.meta_gradients(
            seen.X, seen.y, seen.offsets, participants, BT, w, *inner, work
        )
        share = steps.outer / len(participants)
        with np.errstate(over="ignore", invalid="ignore"):
            return BT - share * work.sumT, w - share * work.head_sum, loss

    def metrics(BT, w, loss):
        if truth is None or truth.k != k:
            return {"loss": loss}
        if data is None:  # no heads to fit
            return {"distance": subspace.distance_or_nan(BT.T, truth.B), "loss": loss}
        B = BT.T.copy()
        return {"loss": loss} | representation_errors(B, fit_heads(data, B), truth)

    def state_of(B, w):
        return {"B": B, "w": w.copy()} | ({} if data is None else {"W": fit_heads(data, B)})

    return update, metrics, state_of


class _Meta(SharedModel):
    """Outer steps, of which the loss is that after an inner one."""

    descends = False


checked(globals(), units=False)
