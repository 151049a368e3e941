"""Alternating minimization in the heads with descent in the representation, as its authors run it.

Both use FedRep's rounds. They differ in the start, the step size, and the samples and clients that
a round uses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep._lib.frozen import positive, read
from linrep.algorithms._schedule import InTurn
from linrep.algorithms._setup import prepare
from linrep.algorithms.driver import drive
from linrep.algorithms.fedrep.options import Options, Step
from linrep.algorithms.fedrep.rounds import Sampled
from linrep.algorithms.registry import algorithm
from linrep.algorithms.starts import TRUNCATION, truncated_spectrum
from linrep.algorithms.step_sizes import largest_second_moment, units_of
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike
from linrep.trace import Trace, read_rounds

__all__ = ["altgdmin", "altmin_gd"]


@algorithm("regression")
def altgdmin(
    data: ClientData,
    *,
    k: int,
    rounds: int = 100,
    multiplier: float | None = None,
    step_size: float | None = None,
    truncation: float | None = None,
    start: str | float | ArrayLike | Trace = "truncated",
    record: int | ArrayLike = 1,
    tolerance: float | None = None,
    rng: RNGLike = None,
) -> Trace:
    r"""Run AltGDmin: a truncated spectral start, then exact heads and a gradient step in B.

    .. math:: B \leftarrow \mathrm{QR}\Big(B - \frac{\eta}{n} \sum_i
              \frac{1}{m_i} X_i^\top (X_i B w_i - y_i) w_i^\top\Big), \qquad
              \eta = \frac{c}{\hat\sigma^2}

    where :math:`\hat\sigma` is the largest singular value of the start's matrix over
    :math:`\sqrt n`, an estimate of :math:`\|W^*\|_2/\sqrt n`. Where no truth is known, whose
    covariates have covariance I, the step is that times :math:`s^4/\lambda`, with :math:`s^2` the
    covariates' mean square and :math:`\lambda` the largest eigenvalue of their second moment.

    Parameters
    ----------
    data, k, rounds
    multiplier : float, optional
        c, positive; 0.5 by default. Not with a `step_size`.
    step_size : float, optional
        Step size :math:`\eta` itself, instead of the multiplier.
    truncation : float, optional
        Labels larger than its square root times their root mean square are left out, see
        :func:`truncated_start`; 36 by default. Of the start "truncated" and of a step that is
        found, and with others refused.
    start : {"moments", "models", "random", "projected_gradient", "truncated"}, array or Trace
        Starting representation, see :func:`fedrep`; by default "truncated".
    record, rng
    tolerance
        As in :func:`fedrep`.

    Returns
    -------
    Trace
        State ``B`` (d, k) and ``W`` (n, k), metrics as :func:`fedrep` records them.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the labels are all zero.

    Notes
    -----
    Nayer and Vaswani, *Fast and sample-efficient federated low rank matrix recovery from
    column-wise linear and quadratic projections*, 2023, without the sample splitting of their
    analysis; their sum over samples is a mean here, and their step c / (m sigma_max^2) the above.
    The value of c is a choice made here. Rounds are those of :func:`fedrep` on the same samples,
    whose step is at most 1/(4 sigma_max^2) by its theorem.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=100, d=20, k=2, rng=0)
    >>> trace = lr.altgdmin(truth.draw(10, rng=1), k=2)
    >>> bool(trace["distance"][-1] < 1e-10)
    True
    """
    options = _Options(
        read_rounds(rounds, record), multiplier=multiplier, step_size=step_size,
        truncation=truncation, tolerance=tolerance,
    )  # fmt: skip
    return _run(data, options, k=k, start=start, record=record, rng=rng)


@algorithm("regression")
def altmin_gd(
    data: ClientData,
    *,
    k: int,
    rounds: int = 100,
    disjoint: bool = False,
    multiplier: float | None = None,
    step_size: float | None = None,
    start: str | float | ArrayLike | Trace = "moments",
    record: int | ArrayLike = 1,
    tolerance: float | None = None,
    rng: RNGLike = None,
) -> Trace:
    r"""Run AltMinGD: heads fitted to one half of each client's samples, a step in B on the other.

    .. math:: w_i = \arg\min_w \|y_i^{(1)} - X_i^{(1)} B w\|^2, \quad
              B \leftarrow \mathrm{QR}\Big(B - \frac{\eta}{|T|} \sum_{i \in T}
              \frac{1}{m_i^{(2)}} X_i^{(2)\top} (X_i^{(2)} B w_i - y_i^{(2)}) w_i^\top\Big)

    Parameters
    ----------
    data : ClientData
        At least two samples per client; the first half, rounded up, is used for the head.
    k, rounds
    disjoint : bool, default False
        Use different clients in every round, floor(n / rounds) of them, as the analysis does;
        otherwise all clients take part in all rounds.
    multiplier : float, optional
        c of the step :math:`\eta = c/\hat\sigma^2`, with :math:`\hat\sigma` as in :func:`altgdmin`;
        the paper leaves its constant open; the default of 0.5 is linrep's. Not with a `step_size`.
    step_size : float, optional
        Step size :math:`\eta` itself, instead of the multiplier.
    start : {"moments", "models", "random", "projected_gradient", "truncated"}, array or Trace
        Starting representation, see :func:`fedrep`; by default "moments".
    record
    tolerance
        As in :func:`fedrep`.
    rng

    Returns
    -------
    Trace
        State ``B`` (d, k) and ``W`` (n, k), the heads of the last round a client took part in.
        Metrics as :func:`fedrep` records them; the loss is that of the gradient's halves.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, a client has one sample, or the labels are all zero.

    Notes
    -----
    Thekumparampil, Jain, Netrapalli and Oh, *Statistically and computationally efficient linear
    meta-representation learning*, 2021. Their AltMin, which solves for the representation as for
    the heads, is :func:`alternating_least_squares`, without the halves.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=100, d=20, k=2, rng=0)
    >>> trace = lr.altmin_gd(truth.draw(20, rng=1), k=2, rng=2)
    >>> bool(trace["distance"][-1] < 1e-8)
    True
    """
    options = _InHalves(
        read_rounds(rounds, record), multiplier=multiplier, step_size=step_size,
        tolerance=tolerance, disjoint=disjoint,
    )  # fmt: skip
    return _run(data, options, k=k, start=start, record=record, rng=rng)


def _scale(data):
    r"""Return what the step is multiplied by on data of one's own, 1 where a truth is known.

    For covariates of second moment s^2 I it is s^2, by which the start's matrix is too large, and
    the curvature too small. Where they are larger along some direction, it is shorter by that.
    """
    if data.truth is not None:
        return 1.0
    square = units_of(data).covariates ** 2
    return square**2 / (largest_second_moment(data) or 1.0)


@dataclass(frozen=True)
class _Options(Options):
    """The settings of a run, checked; those of FedRep's rounds among them."""

    multiplier: float | None = None
    step_size: float | None = None
    truncation: float | None = None
    disjoint: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.multiplier is not None and self.step_size is not None:
            raise ValueError(
                "multiplier must not be given with a step_size: it multiplies one found"
            )
        read(self, multiplier=positive, step_size=positive)

    @property
    def constant(self) -> float:
        """The multiplier of a step that is found, c."""
        return 0.5 if self.multiplier is None else self.multiplier

    @property
    def algorithm(self) -> str:
        """What its authors call it."""
        return "AltMinGD" if self.in_halves else "AltGDmin"

    def participation(self, n: int, start) -> float:
        """Return the share of clients that a round has."""
        if not self.disjoint:
            return 1.0
        if isinstance(start, Trace):
            raise ValueError("start must not be a trace with disjoint=True: its clients are used")
        if not 1 <= self.rounds <= n:
            raise ValueError(
                f"rounds must be at most n = {n} with disjoint=True, got {self.rounds}"
            )
        return (n // self.rounds) / n


@dataclass(frozen=True)
class _InHalves(_Options):
    """The same for heads that see one half of a client's samples, the gradient the other."""

    in_halves: ClassVar[bool] = True


def _run(data, options: _Options, *, k, start, record, rng) -> Trace:
    """Run FedRep's rounds with the start and the step of these methods."""
    watch = Stopwatch()
    if options.in_halves and data.m.min() < 2:
        raise ValueError("data must have at least two samples of every client, one in each half")
    k = check.rank(k, data.n, data.d)
    participation = options.participation(data.n, start)
    going_on = isinstance(start, Trace)
    step_size = start.step_size if going_on and options.step_size is None else options.step_size
    spectral = isinstance(start, str) and start == "truncated"
    frame = None
    truncation = options.truncation
    if truncation is not None and not (spectral or step_size is None or going_on):
        raise ValueError("truncation needs start='truncated', or a step size that is found")
    truncation = TRUNCATION if truncation is None else truncation
    if spectral or step_size is None:
        frame, largest = truncated_spectrum(data, k, truncation)
        if step_size is None and not largest > 0.0:
            raise ValueError("data must have labels that are not all zero to find a step size")
    rule = "given" if step_size is not None else "spectral"
    setup = prepare(
        data, m=None, k=k, batches="fixed", start=frame if spectral else start,
        participation=participation, rng=rng,
    )  # fmt: skip
    setup.orthonormalize()
    if step_size is None:
        step_size = options.constant * _scale(data) / largest**2
    step = Step(check.real("step_size", step_size, above=0.0), rule)
    schedule = None
    if options.disjoint:
        schedule = InTurn(setup.participation_rng, setup.n, setup.participants)
    method = Sampled(setup, options, step, schedule=schedule)
    if frame is not None:  # a sum of squares, the threshold that comes of them, and a column
        up, down = setup.floats_up + setup.n * (setup.d + 1), setup.floats_down + setup.n
        setup = replace(setup, floats_up=up, floats_down=down)
    particular = {"disjoint": options.disjoint} if options.in_halves else {"truncation": truncation}
    return drive(
        method,
        algorithm=options.algorithm,
        rounds=options.rounds,
        record=record,
        settings={
            "problem": repr(data), "k": k, "rounds": options.rounds, "batches": "fixed",
            "start": start if spectral else setup.start, "participants": setup.participants,
            "multiplier": options.constant, "step_size": step.size, "step_size_rule": step.rule,
            **particular, "tolerance": options.tolerance, "factored": method.factored,
        },
        watch=watch,
        sent=setup.sent(setup.d * setup.k),
        begun=setup.begun,
    )  # fmt: skip


checked(globals(), units=False)
