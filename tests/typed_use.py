"""linrep as a user's typed program calls it; `make lint` checks it with mypy --strict.

tests/test_types.py runs it, too, so that what is asserted of types is true of values.
"""

from typing import Any, assert_type

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

import linrep as lr
from linrep.sweeps import Grid, Sweep, open_run

Values = NDArray[np.float64]


def regression() -> lr.Trace:
    """Draw a truth and data, and run methods of every kind of argument."""
    truth = lr.SharedRepresentation.random(n=6, d=4, k=2, rng=0)
    assert_type(truth, lr.SharedRepresentation)
    data = truth.draw(8, rng=np.random.default_rng(1))
    assert_type(data, lr.ClientData)
    trace = lr.fedrep(truth, m=8, rounds=3, batches="fresh", start="moments", rng=1)
    assert_type(trace, lr.Trace)
    assert_type(trace["distance"], Values)
    assert_type(trace.rounds, int)
    lr.fedrep(data, k=2, rounds=2, start=(truth.B, truth.W), rng=[1, 2])
    lr.fedsgd(data, k=2, rounds=2, step_size=0.1)
    lr.local_only(data)
    B, W = lr.random_start(6, 4, 2, rng=np.random.SeedSequence(3))
    assert_type(W, Values)
    assert_type(lr.fit_heads(data, B), Values)
    fitted = lr.fit_new_clients(lr.fedrep(data, k=2), data)
    assert_type(fitted.predict(data), Values | pd.Series)
    assert_type(fitted.score(data), float)
    assert_type(fitted.score(data, by="client"), pd.Series)
    assert_type(lr.subspace.distance(B, truth.B), float)
    taken = lr.kernels.fedrep_round(data.X, data.y, data.offsets, B.copy(), W, step_size=0.1)
    assert_type(taken.B, Values)
    assert_type(lr.kernels.distance(taken.B, B.copy()), float)
    return trace


def other_problems() -> None:
    """Run the methods for lower ranks, for entries and for any functions."""
    low = lr.LowRankRegression.random(n=6, d=4, singular_values=[2.0, 1.0], noise=0.1, rng=0)
    data = low.draw(10, rng=1)
    assert_type(lr.flute(data, k=1, step_size=0.05, rounds=3, rng=1), lr.Trace)
    assert_type(lr.empirical_risk_minimizer(data, 1).loss, float)
    truth = lr.SideInformationCompletion.random(n=8, d=6, p=3, k=1, rng=0)
    seen = truth.observe(per_client=3, rng=1)
    assert_type(seen, lr.Observations)
    assert_type(lr.perfedsi(seen, k=1, step_size=0.01, rounds=3, rng=1), lr.Trace)
    flipped = lr.problems.personal.flipped_labels(n=4, d=3, m=5, ridge=0.1, rng=0)
    assert_type(lr.pflmf(flipped, k=1, step_size=0.1, rounds=3, rng=1), lr.Trace)
    spectrum = lr.theory.flute.Spectrum.of(low, 1)
    assert_type(spectrum, lr.theory.flute.Spectrum)


def own_method() -> lr.Trace:
    """Write a method with linrep's loop."""

    def step(B: Values, t: int) -> Values:
        return B / (t + 1)

    return lr.run_rounds(
        step,
        np.eye(3),
        rounds=4,
        measure=lambda B: {"norm": float(np.linalg.norm(B))},
        final=lambda B: {"B": B},
    )


def measure(cell: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
    """Return one row of a sweep."""
    return {"x": rng.random() + cell["a"]}


def swept(directory: str) -> float:
    """Sweep a function and summarize what is stored."""
    run = Sweep(measure, Grid.product({"a": [1, 2]}), 2).run(directory)
    assert_type(run.count(), int)
    rows = open_run(directory).read()
    return float(lr.sweeps.summarize(rows, "x", ["a"])["estimate"].iloc[0])


def drawn(trace: lr.Trace) -> Axes:
    """Draw a trace."""
    return trace.plot("distance", color="black")
