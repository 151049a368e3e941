"""Figure 4: new clients."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Evidence, claim, combine, expectation, ordering
from linrep.claims._parts import decided, draw_seeds, medians
from linrep.claims.fedrep._figures import (
    CONVENTIONS,
    Decision,
    draw_problem,
    one_model,
)
from linrep.subspace import distance
from linrep.theory.expectations import least_squares_error

_FIGURE4: dict[str, Any] = {
    "place": "Figure 4; Section 5.1",
    "kind": "comparison",
}
#: A model counts as accurate if its error is below this share of that of the zero model.
ACCURATE = 0.25


@claim(
    "fedrep.figure4",
    latex=r"\mathrm{error}_{\text{FedRep}}(m_{\text{new}}) <"
    r"\mathrm{error}_{\text{local}}(m_{\text{new}}), \qquad m_{\text{local}} = \Omega(d)",
    plain="n = 100, (d, k) = (20, 2), trained with m = 10, r = 1: a new client "
    "does better at m_new = 5, 10, 20 with FedRep's representation than alone, where it "
    "needs m_new of order d.",
    broken={"better": "local"},
    **_FIGURE4,
)
def figure4(budget, rng, *, better="FedRep") -> Evidence:
    """Compare new clients' errors with each other, and local ones with the closed form."""
    sizes = (1, 2, 3, 4, 5, 10, 18, 20, 22, 30)
    errors = _new_clients(rng, budget(20, 60, 300), sizes, ("FedRep", "local"))
    pair = ("FedRep", "local") if better == "FedRep" else ("local", "FedRep")
    parts: list[Decision] = [
        partial(
            ordering, *(errors[m, method] for method in pair),
            name=f"{pair[0]} below {pair[1]}, m_new = {m}", setting={"m_new": m},
        )
        for m in (5, 10, 20)
    ]  # fmt: skip
    limit = np.full(len(errors), ACCURATE)
    parts += [
        partial(ordering, limit, errors[m, "local"], name=f"local not accurate, m_new = {m}")
        for m in (5, 10, 20)
    ]
    parts.append(partial(ordering, errors[30, "local"], limit, name="local accurate, m_new = 30"))
    for m in (5, 10):
        noise = CONVENTIONS["text"]["noise"]
        # Heads of the training clients have mean square 2 * 2/100.
        predicted = float(least_squares_error(20, m, signal=1.0, noise=noise / 0.2))
        name = f"local in closed form, m_new = {m}"
        parts.append(partial(expectation, errors[m, "local"], predicted, name=name))
    return replace(combine(decided(parts)), points=_new_client_table(errors))


@claim(
    "fedrep.figure4.threshold",
    latex=r"m_{\text{new}} \ge k \implies \text{accurate}",
    plain="As Figure 4: with FedRep's representation a new client's model is accurate (error below "
    "a quarter of the zero model's, in the mean over new clients) from m_new = k on.",
    broken={"excess": -1},
    mended={"of": "median"},
    **_FIGURE4,
)
def figure4_threshold(budget, rng, *, excess=0, of="mean") -> Evidence:
    """Compare new clients' mean error from m_new = k on with a quarter of the zero model's."""
    return _threshold(budget, rng, excess, of)


@claim(
    "fedrep.figure4.threshold.median",
    latex=r"m_{\text{new}} \ge k \implies \text{accurate for most clients}",
    plain="As Figure 4: with FedRep's representation the median new client's model is accurate "
    "from m_new = k on.",
    broken={"excess": -1},
    **_FIGURE4,
)
def figure4_threshold_median(budget, rng, *, excess=0, of="median") -> Evidence:
    """Compare new clients' median error with the same."""
    return _threshold(budget, rng, excess, of)


@claim(
    "fedrep.figure4.threshold.corrected",
    latex=r"m_{\text{new}} \ge k + 2 \implies \text{accurate}",
    plain="As Figure 4: with FedRep's representation a new client's model is accurate from "
    "m_new = k + 2 on, where the mean square error becomes finite.",
    broken={"excess": 0},
    corrects="fedrep.figure4.threshold",
    **_FIGURE4,
)
def figure4_threshold_corrected(budget, rng, *, excess=2, of="mean") -> Evidence:
    """Compare new clients' mean error with the same, with two samples more."""
    return _threshold(budget, rng, excess, of)


def _threshold(budget, rng, excess, of):
    """Decide on the mean or the median error from m_new = k + excess on; tell of both."""
    sizes = [2 + more for more in (-1, 0, 1, 2, 3, 8) if more >= excess]
    errors = _new_clients(rng, budget(40, 60, 300), sizes, ("FedRep",))
    limit = np.full(len(errors), ACCURATE)
    column = {"mean": "FedRep", "median": "FedRep, median"}
    found = combine(
        decided(
            partial(
                ordering, errors[m, column[of]], limit, name=f"{of}, m_new = {m}",
                setting={"m_new": m, "of the new clients": of},
            )
            for m in sizes
        )
    )  # fmt: skip
    told = ", ".join(f"{name} {errors[sizes[0], own].median():.2g}" for name, own in column.items())
    return replace(
        found,
        sentence=f"{found.sentence}; new clients' errors at m_new = {sizes[0]}, over the zero "
        f"model's, in the median of seeds: {told}",
        points=_new_client_table(errors),
    )


@claim(
    "fedrep.figure4.fedsgd",
    latex=r"\text{FedSGD does not learn } B^*",
    plain="As Figure 4: FedSGD from a random start (the paper names none) is far from B*, and its "
    "representation gives no accurate model at m_new = 5, 10, 20.",
    broken={"start": "FedRep's"},
    **_FIGURE4,
)
def figure4_fedsgd(budget, rng, *, start="random") -> Evidence:
    """Compare FedSGD's distance with 1/2 and new clients' errors with a quarter of the zero's."""
    method = f"FedSGD, {start} start"
    errors = _new_clients(rng, budget(20, 60, 300), (5, 10, 20), ("FedRep", method))
    limit = np.full(len(errors), ACCURATE)
    parts: list[Decision] = [
        partial(ordering, np.full(len(errors), 0.5), errors[0, method], name="far from B*")
    ]
    for m in (5, 10, 20):
        setting = {"m_new": m, "start": start}
        one, other = errors[m, "FedRep"], errors[m, method]
        parts.append(
            partial(ordering, one, other, name=f"FedRep better, m_new = {m}", setting=setting)
        )
        parts.append(
            partial(ordering, limit, other, name=f"not accurate, m_new = {m}", setting=setting)
        )
    return replace(combine(decided(parts)), points=_new_client_table(errors))


def _new_clients(rng, count, sizes, methods):
    """Return new clients' mean errors over the zero model's: a row per seed, columns m_new, method.

    Column (0, method) holds the distance of the representation to B*.
    """
    rows = [_new_client_errors(seed, sizes, methods) for seed in draw_seeds(rng, count)]
    found = pd.DataFrame(rows)
    found.columns = pd.MultiIndex.from_tuples(found.columns, names=["m", "method"])
    return found


def _new_client_errors(seed, sizes, methods):
    truth, data = draw_problem(100, 20, 2, 10, seed, **CONVENTIONS["text"])
    start = lr.projected_gradient_start(data, 2)
    learn = {
        "FedRep": lambda: lr.fedrep(data, rounds=500, start=start, rng=seed).state["B"],
        "local": lambda: np.eye(20),
        "FedSGD, random start": lambda: one_model(data, seed)[0],
        "FedSGD, FedRep's start": lambda: one_model(data, seed, start)[0],
    }
    frames = {method: learn[method]() for method in methods}
    found = {(0, method): distance(B, truth.B) for method, B in frames.items() if method != "local"}
    rng = np.random.default_rng([seed, 4])
    heads = rng.standard_normal((50, 2))
    heads *= 0.2 / np.linalg.norm(heads, axis=1, keepdims=True)  # as the training heads on average
    newcomers = truth.with_heads(heads)
    for m in sizes:
        samples = newcomers.draw(m, rng=rng)
        for method, B in frames.items():
            theta = lr.fit_heads(samples, B) @ B.T
            errors = np.sum((theta - newcomers.theta) ** 2, axis=1) / 0.2**2
            found[m, method] = errors.mean()
            found[m, f"{method}, median"] = np.median(errors)
    return found


def _new_client_table(errors):
    long = errors.melt(value_name="y").rename(columns={"m": "x", "method": "series"})
    long = long[(long["x"] > 0) & ~long["series"].str.endswith("median")]
    words = {"panel": "new clients", "xlabel": "samples of the new client"}
    return medians([long.assign(ylabel="error over the zero model's", **words)])
