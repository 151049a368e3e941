"""FedRep: heads solved or stepped on each client, one descent step on the shared representation."""

from __future__ import annotations

from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep._lib.weights import named
from linrep.algorithms._setup import Setup, choose_batches, prepare
from linrep.algorithms.driver import drive
from linrep.algorithms.fedrep.gram import Simulated
from linrep.algorithms.fedrep.options import Options, Step
from linrep.algorithms.fedrep.rounds import Sampled
from linrep.algorithms.registry import algorithm
from linrep.algorithms.step_sizes import smoothness_step_size, theorem_step_size
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike
from linrep.problems.regression import SharedRepresentation
from linrep.trace import Trace, read_rounds

__all__ = ["fedrep"]

_MOST = 256  # dimension up to which to start from the clients' models is quick beside the rounds


@algorithm("regression")
def fedrep(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | ArrayLike | None = None,
    k: int | None = None,
    rounds: int = 100,
    batches: str | None = None,
    start: str | float | ArrayLike | tuple[ArrayLike, ArrayLike] | Trace | None = None,
    participation: float = 1.0,
    local_steps: int | None = None,
    step_size: float | str | None = None,
    head_step_size: float | None = None,
    normalization: str = "theorem",
    orthonormal: bool = True,
    weights: str | ArrayLike = "clients",
    record: int | ArrayLike = 1,
    tolerance: float | None = None,
    rng: RNGLike = None,
) -> Trace:
    r"""Run FedRep for linear regression.

    Each round, every participating client fits its head w_i on the current representation B, and
    the server takes one step on the mean of their gradients and orthonormalizes:

    .. math:: B \leftarrow \mathrm{QR}\Big(B - \frac{\eta}{rn} \sum_{i \in I}
              \frac{1}{m_i} X_i^\top (X_i B w_i - y_i) w_i^\top\Big)

    Parameters
    ----------
    problem, m, k, rounds
    batches : {"fresh", "fixed", "split", "gram", "gram_split"}, optional
        New samples every round (default with a SharedRepresentation); the same ones every round
        (default, and the only choice, with ClientData); new ones every round, one batch of m for
        the head and a second batch of m for the gradient. With ``"gram"`` and ``"gram_split"`` the
        new samples of a Gaussian design are simulated through their sufficient statistics: metrics
        with the same distribution as with ``"fresh"`` and ``"split"``, at a cost that depends
        neither on m nor on d.
    start : {"moments", "models", "random", "projected_gradient", "truncated"}, float, array, Trace
        Starting representation, by the name of a rule as :func:`linrep.moments_start` or as an
        array (d, k); a pair (B, W) has heads, too, for methods that step them. By default
        "moments", and "models" on data without a truth, whose covariates need not be Gaussian, for
        d up to 256. A number is a distance from B*, all angles equal. Unless batches are fixed, all
        but "random" draw a batch of their own. With the trace of another run, that run is
        continued: with the same settings, the rounds are those of one long run (to rounding, if
        that run has another ``factored``).
    participation
    local_steps : int, optional
        Gradient steps on the head per round, from where the client left it: 1 is GD-GD, 10 is
        10GD-GD. By default the head is the exact least-squares solution, of minimum norm where it
        is not unique.
    step_size : float, "theorem", "adaptive" or "smoothness", optional
        Step size :math:`\eta` of the representation. ``"theorem"`` (default where there is a truth)
        is the largest that the theorem allows, 1/(4 sigma_max^2), see
        :meth:`SharedRepresentation.sigma_max`. ``"adaptive"`` (default where there is none) is for
        fixed batches: the gradient is scaled by the heads' curvature, and the step length is found
        in every round, see the notes. From the start "models" these rounds run in coordinates in
        which the pooled covariates have second moment I, so that their units do not matter.
        ``"smoothness"`` is the theorem's counterpart for stored data, 1/(4L) with L the loss's
        largest curvature in B at the start; it is the default for data of a
        :class:`LowRankRegression`, and where the adaptive step is not defined, which needs
        `orthonormal` and the theorem's normalization.
    head_step_size : float, optional
        Step size of the head steps; by default 1 / lambda_max(B' X_i' X_i B / m_i) for each client
        and round. Only with `local_steps`.
    normalization : {"theorem", "published"}
        ``"theorem"`` averages client gradients; ``"published"`` sums them, as the authors'
        notebook does, so that the same :math:`\eta` means a step rn times as long.
    orthonormal : bool, default True
        Take the QR factorization after each step; the published notebook does not.
    weights : {"clients", "samples"} or array_like, shape (n,)
        Of the clients in means of gradients, of losses, and in the start: all alike, as in the
        paper, by their numbers of samples, or positive numbers. Others than "clients" need stored
        samples.
    record
    tolerance : float, optional
        Stop as ``converged`` once the distance is at most this; needs a truth.
    rng

    Returns
    -------
    Trace
        State ``B`` (d, k) and ``W`` (n, k), with simulated batches also ``C`` = B' B* and ``Phi``,
        whose singular values are the sines of the principal angles. The heads are those the clients
        last fitted, on the representation they were sent. With an adaptive step the metric
        ``step_size`` is each round's length, where 1 is the longest that is safe for any data; with
        all clients the state is the last representation that was accepted, and the heads that fit
        it. From the start "models", with all clients and exact heads, it is the one of the lowest
        loss so far, the start included, and so is the loss: after a round it is never above that of
        pooled least squares. The settings' ``step_size_rule`` says which rule was used,
        ``prescribed_step_size`` what the theorem allows, if a truth is known. On data of a
        :class:`LowRankRegression`, which has no B*, the metrics are the loss and ``truth_error``,
        the mean over clients of :math:`\|Bw_i-\phi_i\|`, as :func:`flute` records it.

    Notes
    -----
    FedRep, Algorithm 2; GD-GD and 10GD-GD, Section 5.1; conventions of the published notebook,
    see the documentation on conventions. Cost per round O(rn m d k). Stored samples of clients with
    more than d + 1 are read by the triangular factor of [X y], d + 1 rows of the same losses and
    gradients, if the rounds asked for save more than the factorization costs: setting ``factored``.

    The adaptive step goes along :math:`G H^{-1}`, with G the mean gradient and :math:`H =
    \frac1n\sum_i \lambda_i w_i w_i^\top`, :math:`\lambda_i` the largest eigenvalue of
    :math:`X_i^\top X_i/m_i`. With all clients its length is first that of an exact line search at
    fixed heads, later the shorter of Barzilai and Borwein (1988), at least 1; a step after which
    the loss exceeds the last eight (Grippo, Lampariello and Lucidi, 1986) is undone. With some of
    the clients it is one over the mean curvature met along the direction so far, halved whenever,
    over as many participants as there are clients, the loss is no lower than when they last took
    part; with `local_steps`, it is that of the line search.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=100, d=20, k=2, rng=0)
    >>> trace = lr.fedrep(truth, m=10, rounds=200, rng=1)
    >>> bool(trace["distance"][-1] < 1e-6)
    True
    """
    watch = Stopwatch()
    batches = choose_batches(problem) if batches is None else batches
    options = Options(
        rounds=read_rounds(rounds, record), batches=batches, local_steps=local_steps,
        head_step_size=head_step_size, normalization=normalization, orthonormal=orthonormal,
        tolerance=tolerance,
    )  # fmt: skip
    if start is None:
        start = _default_start(problem)
    setup = prepare(
        problem, m=m, k=k, batches=batches, start=start, participation=participation, rng=rng,
        weights=weights,
    )  # fmt: skip
    if orthonormal:
        setup.orthonormalize()
    step = _find_step(step_size, options, setup)
    method = (Simulated if options.simulated else Sampled)(setup, options, step)
    return drive(
        method,
        algorithm=options.algorithm,
        rounds=options.rounds,
        record=record,
        settings={
            "problem": repr(problem),
            "m": m,
            "k": setup.k,
            **vars(options),
            "start": setup.start,
            "participation": participation,
            "participants": setup.participants,
            "weights": named(weights),
            "step_size": step.rule if step.adaptive else step.size,
            "step_size_rule": step.rule,
            "prescribed_step_size": step.prescribed,
            "coordinates": "whitened" if step.whitened else "given",
            "factored": isinstance(method, Sampled) and method.factored,
        },
        watch=watch,
        sent=setup.sent(setup.d * setup.k),
        begun=setup.begun,
    )


def _default_start(problem):
    """Return the start where none is given: the paper's, or one for data of unknown covariates."""
    unknown = isinstance(problem, ClientData) and problem.truth is None
    return "models" if unknown and problem.d <= _MOST else "moments"


def _find_step(step_size, options: Options, setup: Setup) -> Step:
    """Return the step of a run: that which is given, or that of a rule."""
    before = setup.begun.before
    if before is not None and (step_size is None or isinstance(step_size, str)):
        step_size = before.step_size
    unknown = setup.data is not None and setup.data.truth is None
    if step_size is None:
        step_size = "theorem" if setup.truth is not None else "smoothness"
        if options.may_adapt and unknown:
            step_size = "adaptive"
    divisor = 1 if options.averaged else setup.participants
    prescribed = _prescribed(setup)
    allowed = None if prescribed is None else prescribed / divisor
    if not isinstance(step_size, str):
        return Step(check.real("step_size", step_size, above=0.0), prescribed=allowed)
    if step_size == "adaptive":
        if not options.may_adapt:
            raise ValueError(
                "step_size='adaptive' needs batches='fixed', orthonormal=True, "
                "normalization='theorem'"
            )
        from_models = setup.start == "models"
        if before is not None:
            from_models = before.settings.get("coordinates") == "whitened"
        return Step(1.0, step_size, allowed, whitened=from_models and unknown)
    size = _step_by_rule(step_size, setup, prescribed) / divisor
    return Step(size, step_size, allowed)


def _step_by_rule(rule: str, setup: Setup, prescribed: float | None) -> float:
    """Return the step size that a rule has for means of gradients."""
    check.choice("step_size", rule, ("theorem", "adaptive", "smoothness"))
    if rule == "theorem":
        if setup.truth is None:
            raise ValueError(
                "step_size='theorem' needs a known truth; use a number, or 'adaptive' by default"
            )
        if prescribed is None:  # of heads that are all zero, which is refused
            prescribed = theorem_step_size(setup.truth, setup.participants)
        return prescribed
    if setup.data is None:
        raise ValueError("step_size='smoothness' needs stored data, that is batches='fixed'")
    return smoothness_step_size(setup.data, setup.B)


def _prescribed(setup: Setup) -> float | None:
    """Return the step that the theorem allows for means of gradients, where a truth is known."""
    if setup.truth is None or not setup.truth.W.any():
        return None
    return theorem_step_size(setup.truth, setup.participants)


checked(globals(), units=False)
