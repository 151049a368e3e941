"""Figure 4: new clients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Curve, Fact, Mean, Paired, Readings, Together, statement
from linrep.claims.tables import draw_seeds, medians
from linrep.papers.fedrep._figures import draw_problem, global_model
from linrep.papers.fedrep.settings import CONVENTIONS, Figure4, models_on, squared_errors
from linrep.problems.subspace import distance
from linrep.theory.expectations import least_squares_error

_FIGURE4: dict[str, Any] = {"place": "Figure 4; Section 5.1"}
FIGURE = Figure4()
#: A model counts as accurate if its error is below this share of that of the zero model.
ACCURATE = 0.25


@statement(
    "fedrep.figure4",
    latex=r"\mathrm{error}_{\text{FedRep}}(m_{\text{new}}) <"
    r"\mathrm{error}_{\text{local}}(m_{\text{new}}), \qquad m_{\text{local}} = \Omega(d)",
    plain="n = 100, (d, k) = (20, 2), trained with m = 10, r = 1: a new client "
    "does better at m_new = 5, 10, 20 with FedRep's representation than alone, where it "
    "needs m_new of order d.",
    negative_control={"better": "local"},
    **_FIGURE4,
)
def figure4(budget, rng, *, better="FedRep"):
    """Compare new clients' errors with each other, and local ones with the closed form."""
    sizes = (1, 2, 3, 4, 5, 10, 18, 20, 22, 30)
    errors = _new_clients(rng, budget(100, 150, 300), sizes, ("FedRep", "local"))
    pair = ("FedRep", "local") if better == "FedRep" else ("local", "FedRep")
    for m in (5, 10, 20):
        low, high = (errors[m, method] for method in pair)
        yield _ordered(low, high, f"{pair[0]} below {pair[1]}", m_new=m)
    limit = np.full(len(errors), ACCURATE)
    for m in (5, 10, 20):
        yield _ordered(limit, errors[m, "local"], "local not accurate", m_new=m)
    yield _ordered(errors[30, "local"], limit, "local accurate", m_new=30)
    for m in (5, 10):
        noise = CONVENTIONS["text"]["noise"]
        # Heads of the training clients have mean square 2 * 2/100.
        predicted = float(least_squares_error(FIGURE.d, m, signal=1.0, noise=noise / 0.2))
        yield Mean(
            errors[m, "local"],
            equals=predicted,
            name=f"local in closed form, m_new = {m}",
            quantity="mean error over the zero model's",
            setting={"m_new": m},
        )
    yield Curve(_new_client_table(errors))


def _ordered(smaller, larger, name, **setting):
    """Return the comparison of two errors, named after the new clients' samples."""
    return Paired(
        smaller,
        larger,
        name=f"{name}, m_new = {setting['m_new']}",
        setting=setting,
        quantity="median ratio of errors",
    )


_AVERAGES = {"median of new clients": "FedRep, median", "mean over new clients": "FedRep"}


@statement(
    "fedrep.figure4.threshold",
    latex=r"m_{\text{new}} \ge k \implies \text{accurate}",
    plain="As Figure 4: with FedRep's representation a new client's model is accurate (error below "
    "a quarter of the zero model's) from m_new = k on, for most clients or in the mean over them.",
    negative_control={"excess": -1},
    **_FIGURE4,
)
def threshold(budget, rng, *, excess=0):
    """Compare new clients' error from m_new = k + excess on with a quarter of the zero model's."""
    sizes = [2 + more for more in (-1, 0, 1, 2, 3, 8) if more >= excess]
    errors = _new_clients(rng, budget(40, 60, 300), sizes, ("FedRep",))
    limit = np.full(len(errors), ACCURATE)
    yield Readings(
        [
            Together([_ordered(errors[m, column], limit, name, m_new=m) for m in sizes], name=name)
            for name, column in _AVERAGES.items()
        ],
        name="accurate",
        phrase="allows an accurate model to be found",
    )
    for name, column in _AVERAGES.items():
        for m in sizes[:3]:
            error = float(errors[m, column].median())
            yield Fact(f"error over the zero model's, {name}", error, setting={"m_new": m})
    yield Curve(_new_client_table(errors))


@statement(
    "fedrep.figure4.threshold.mean",
    own=True,
    latex=r"m_{\text{new}} \ge k + 2 \iff \mathbb E\,\text{error} < \infty",
    plain="As Figure 4: in the mean over new clients, which the figure shows, FedRep's models are "
    "accurate from m_new = k + 2 on and not at m_new = k.",
    negative_control={"excess": 0},
    **_FIGURE4,
)
def threshold_of_mean(budget, rng, *, excess=2):
    """Compare the mean error at k, and from k + excess on, with a quarter of the zero model's."""
    sizes = sorted({2, *(2 + more for more in (0, 1, 2, 3, 8) if more >= excess)})
    errors = _new_clients(rng, budget(40, 60, 300), sizes, ("FedRep",))
    limit = np.full(len(errors), ACCURATE)
    yield _ordered(limit, errors[2, "FedRep"], "mean not accurate", m_new=2)
    for m in sizes:
        if m >= 2 + excess:
            yield _ordered(errors[m, "FedRep"], limit, "mean accurate", m_new=m)
    yield Curve(_new_client_table(errors))


@statement(
    "fedrep.figure4.fedsgd",
    latex=r"\text{FedSGD does not learn } B^*",
    plain="As Figure 4: FedSGD from a random start (the paper names none) is far from B*, and its "
    "representation gives no accurate model at m_new = 5, 10, 20.",
    negative_control={"start": "FedRep's"},
    **_FIGURE4,
)
def figure4_fedsgd(budget, rng, *, start="random"):
    """Compare FedSGD's distance with 1/2 and new clients' errors with a quarter of the zero's."""
    method = f"FedSGD, {start} start"
    errors = _new_clients(rng, budget(20, 60, 300), (5, 10, 20), ("FedRep", method))
    yield Paired(
        np.full(len(errors), 0.5),
        errors[0, method],
        name="far from B*",
        quantity="median of 1/2 over the distance",
        setting={"start": start},
    )
    limit = np.full(len(errors), ACCURATE)
    for m in (5, 10, 20):
        one, other = errors[m, "FedRep"], errors[m, method]
        yield _ordered(one, other, "FedRep better", m_new=m, start=start)
        yield _ordered(limit, other, "not accurate", m_new=m, start=start)
    yield Curve(_new_client_table(errors))


def _new_clients(rng, count, sizes, methods):
    """Return new clients' mean errors over the zero model's: a row per seed, columns m_new, method.

    Column (0, method) holds the distance of the representation to B*.
    """
    rows = [_new_client_errors(seed, sizes, methods) for seed in draw_seeds(rng, count)]
    found = pd.DataFrame(rows)
    found.columns = pd.MultiIndex.from_tuples(found.columns, names=["m", "method"])
    return found


def _new_client_errors(seed, sizes, methods):
    truth, data = draw_problem(FIGURE, seed, **CONVENTIONS["text"])
    start = lr.projected_gradient_start(data, FIGURE.k)
    learn = {
        "FedRep": lambda: FIGURE.fedrep(data, start, seed),
        "local": lambda: np.eye(FIGURE.d),
        "FedSGD, random start": lambda: global_model(data, FIGURE, seed)[0],
        "FedSGD, FedRep's start": lambda: global_model(data, FIGURE, seed, start)[0],
    }
    frames = {method: learn[method]() for method in methods}
    found = {(0, method): distance(B, truth.B) for method, B in frames.items() if method != "local"}
    rng = np.random.default_rng([seed, 4])
    heads = rng.standard_normal((FIGURE.new, FIGURE.k))
    heads *= 0.2 / np.linalg.norm(heads, axis=1, keepdims=True)  # as the training heads on average
    newcomers = truth.with_heads(heads)
    for m in sizes:
        samples = newcomers.draw(m, rng=rng)
        for method, B in frames.items():
            errors = squared_errors(models_on(B, samples), newcomers) / 0.2**2
            found[m, method] = errors.mean()
            found[m, f"{method}, median"] = np.median(errors)
    return found


def _new_client_table(errors):
    long = errors.melt(value_name="y").rename(columns={"m": "x", "method": "series"})
    long = long[(long["x"] > 0) & ~long["series"].str.endswith("median")]
    words = {"panel": "new clients", "xlabel": "samples of the new client"}
    return medians([long.assign(ylabel="error over the zero model's", **words)])
