"""Rounds in which clients move their own models and a server relates these to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.frozen import Reader, not_negative, read, step_count
from linrep.algorithms._compression import compressed_losses
from linrep.algorithms.descent import Descent
from linrep.algorithms.diagnosis import own_data
from linrep.algorithms.driver import run_rounds
from linrep.algorithms.pflmf.pflmf import distances
from linrep.algorithms.step_sizes import units_of
from linrep.problems.clients import ClientData
from linrep.problems.losses import LeastSquaresObjectives, as_objectives
from linrep.problems.objectives import Objectives
from linrep.trace import Trace

Values = NDArray[np.float64]
Server = Callable[[Values, float], Values]
Penalty = Callable[[Values], float]
_step: Reader = partial(check.real, above=0.0, maximum=check.LARGEST)


@dataclass(frozen=True)
class Options:
    """The arguments that the methods share, checked."""

    step_size: float | None
    rounds: int
    tolerance: float
    start: ArrayLike | None
    local_steps: int = 1

    def __post_init__(self):
        read(self, step_size=_step, tolerance=not_negative, local_steps=step_count)

    def models(self, n: int, d: int) -> Values:
        """Return the models (n, d) that a run begins with."""
        return np.zeros((n, d)) if self.start is None else check.array("start", self.start, (n, d))


@dataclass(frozen=True)
class Relation:
    """A method: how its server relates the clients' models to each other.

    The penalty is n times what is added to F, where the server is its proximal map or a projection;
    None where it cannot tell what is better.
    """

    name: str
    server: Server
    penalty: Penalty | None = None
    alone: bool = False  # whether no model depends on another
    accelerate: bool = False
    k: int | None = None  # rank of the optimum that models are compared with
    sent: int | None = None  # numbers each way per client and round; None for d
    share: float = 1.0  # of 1/L, which a step by smoothness is
    restart: Callable[[], None] | None = None  # before the first round: it may remember others
    noted: Mapping[str, Any] = field(default_factory=dict)


def no_penalty(X: Values) -> float:
    """Return the penalty of models that are allowed."""
    return 0.0


def run(problem: Objectives | ClientData, relation: Relation, options: Options) -> Trace:
    """Run rounds of local steps and a server."""
    problem = as_objectives(problem)
    n, d = problem.n, problem.d
    limit = options.tolerance * _gradients_unit(problem)
    theta = options.models(n, d)
    best = None if relation.k is None else problem.best(relation.k)
    whole = problem
    problem = compressed_losses(whole, 4.0 * d * options.local_steps * options.rounds)
    rule: str
    step_size: float | str
    if options.step_size is not None:
        rule, step_size = "given", options.step_size
        step, first = _constant(problem, relation, theta, step_size, options.local_steps)
    elif options.local_steps == 1 and relation.penalty is not None:
        rule = step_size = "adaptive"
        step, first = _adaptive(problem, relation, relation.penalty, theta)
    else:
        longest = _inverse_smoothness(problem)
        if longest is None:
            raise ValueError("step_size must be given where the functions' smoothness is unknown")
        rule, step_size = "smoothness", _step("step_size", relation.share * longest)
        step, first = _constant(problem, relation, theta, step_size, options.local_steps)
    if relation.restart is not None:
        step = _restarting(step, relation.restart)
    asked = {0: 0}

    def measure(state):
        asked[state["done"]] = state["asked"]
        with np.errstate(over="ignore", invalid="ignore"):
            value = problem.value(state["theta"])
            row: dict[str, Any] = {"objective": value, "change": state["change"]}
            row |= distances(whole, best, state["theta"], value)
        return row | ({"step_size": state["step"]} if rule == "adaptive" else {})

    def floats(recorded):
        exchanges = np.array([asked[int(t)] for t in recorded], dtype=float)
        each = n * (d if relation.sent is None else relation.sent) * exchanges
        return {"floats_up": each, "floats_down": each.copy()}

    return run_rounds(
        step, first, rounds=options.rounds, measure=measure, algorithm=relation.name,
        stop=lambda row: row["change"] <= limit,
        final=lambda state: {"theta": state["theta"]},
        settings={
            "problem": repr(whole), "step_size": step_size, "step_size_rule": rule,
            "rounds": options.rounds, "local_steps": options.local_steps,
            "tolerance": options.tolerance, "factored": problem is not whole, **relation.noted,
        },
        sent=floats,
        problem=whole,
    )  # fmt: skip


def _gradients_unit(problem):
    """Return the size that gradients have by the units of data of one's own, 1 of others."""
    data = own_data(problem)
    if data is None or not isinstance(problem, LeastSquaresObjectives):
        return 1.0
    units = units_of(data)
    return units.covariates * units.labels


def _restarting(step, restart):
    """Return a step that lets the server forget, where it is that of the first round."""

    def restarting(state, t):
        if t == 1:
            restart()
        return step(state, t)

    return restarting


def _inverse_smoothness(problem):
    """Return 1 over the largest smoothness of any function, None where it is unknown."""
    largest = float(problem.smoothness.max())
    return 1.0 / largest if 0.0 < largest < np.inf else None


def _constant(problem, relation: Relation, theta, step_size, local_steps):
    """Return a round with a step that stays, and its first state."""

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is not finite then
    def step(state, t):
        theta, ahead, weight = state["theta"], state["ahead"], state["weight"]
        X = ahead
        for _ in range(local_steps):
            X = X - step_size * problem.gradients(X)
        following = relation.server(X, step_size) if np.isfinite(X).all() else X
        change = np.sqrt(np.sum((following - ahead) ** 2) / problem.n) / step_size
        ahead, move = following, following - theta
        # Momentum is restarted where it points uphill (O'Donoghue and Candès, 2015).
        if relation.accelerate:
            weight = 1.0 if np.vdot(state["ahead"] - following, move) > 0.0 else weight
            heavier = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight**2))
            ahead, weight = following + (weight - 1.0) / heavier * move, heavier
        known = {"theta": following, "ahead": ahead, "weight": weight, "change": change}
        return known | {"done": t, "asked": t}

    start = {"theta": theta, "ahead": theta, "weight": 1.0, "change": np.nan}
    return step, start | {"done": 0, "asked": 0}


def _adaptive(problem, relation: Relation, penalty: Penalty, theta):
    """Return a round whose step is found, and its first state.

    The descent runs on the models, each in units in which it is as smooth as the others where none
    depends on another.
    """
    n, d = theta.shape
    roots, first = np.ones((n, 1)), _inverse_smoothness(problem)
    if relation.alone and first is not None:
        roots[problem.smoothness > 0.0, 0] = np.sqrt(problem.smoothness[problem.smoothness > 0.0])
        first = 1.0

    def evaluate(x):
        models = x / roots
        values, gradients = problem.values_and_gradients(models)
        return float(values.sum()) + penalty(models), [gradients / roots], None

    def proximal(x, step):
        return roots * relation.server(x / roots, step) if np.isfinite(x).all() else x

    # From models that are allowed: those that are not may have any value.
    descent = Descent(evaluate, proximal(roots * theta, 0.0), proximal=proximal, first=first)

    def step(state, t):
        descent.restore(state["descent"])
        before = descent.x
        descent.move()
        size = np.linalg.norm(roots * (descent.x - before).reshape(n, d)) / np.sqrt(n)
        return {
            "theta": descent.x.reshape(n, d) / roots,
            "change": size / descent.step if descent.step > 0.0 else 0.0,
            "step": descent.step, "descent": descent.save(), "done": t,
            "asked": descent.trials + 1,
        }  # fmt: skip

    start = {"theta": theta, "change": np.nan, "step": np.nan, "descent": descent.save()}
    return step, start | {"done": 0, "asked": 0}
