"""Figure 4: new clients.

Errors are over the zero model's. The figure's curves may be of means or of medians over new
clients, and the paper names no number of rounds of training, nor what is accurate. Heads of new
clients are as long as those in training.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import linrep as lr
from linrep.claims import Comparison, Paired, statement
from linrep.claims.multiverse import lengths
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep.settings import (
    DATA,
    FEDSGD_STEP,
    LEFT,
    PUBLISHED_ROUNDS,
    Figure4,
    draw_problem,
    models_on,
    squared_errors,
)
from linrep.problems.subspace import distance

FIGURE = Figure4()
AT = lengths(PUBLISHED_ROUNDS, FIGURE.rounds)
AVERAGES: dict[str, Any] = {"mean": np.mean, "median": np.median}
_FIGURE4: dict[str, Any] = {
    "place": "Figure 4; Section 5.1",
    "negative_control": {"factor": 1000.0},
}
ABOUT = {
    "data": "heads of the appendix or the notebook; 1e-3 as variance or deviation of the noise",
    "rounds": "of training; the authors' notebook has 200",
    "over new clients": "how their errors are put together in a run",
}
_SETTING = "n = 100, (d, k) = (20, 2), trained with m = 10, r = 1"


@statement(
    "fedrep.figure4",
    latex=r"\mathrm{error}_{\text{FedRep}}(m_{\text{new}}) <"
    r"\mathrm{error}_{\text{local}}(m_{\text{new}}), \qquad m_{\text{local}} = \Omega(d)",
    plain=f"{_SETTING}: with FedRep's representation a new client does better than alone, where it "
    "needs m_new of order d.",
    **_FIGURE4,
)
def figure4(budget, rng, *, factor=1.0):
    """Compare both errors; of those alone ask whether they are not accurate at a share of d.

    The control claims a factor.
    """
    sizes = budget((5, 10), (2, 5, 10, 20))
    over, (own, alone), _ = newcomers(budget, rng, sizes, ("FedRep", "local"))
    yield Comparison(
        factor * own,
        alone,
        over=over,
        sizes="m_new",
        within=True,
        name="FedRep below local",
        about=ABOUT,
        phrase="drastically improves over the complexity for Local Only",
    )
    shares = {m: f"{m} = {m / FIGURE.d:g} d" for m in sizes if 4 * m >= FIGURE.d}
    alone = np.stack([alone[:, 0, :, -len(shares) :]] * len(LEFT))
    yield Comparison(
        factor * np.broadcast_to(_limits(alone), alone.shape),
        alone,
        over={
            "explains less than": LEFT,
            "data": over["data"],
            "over new clients": AVERAGES,
            "m_new": shares.values(),
        },
        about={"explains less than": "from where a model is not accurate", "m_new": "of order d"},
        name="local not accurate",
        phrase="the complexity for Local Only (m_new = Ω(d))",
    )


@statement(
    "fedrep.figure4.threshold",
    latex=r"m_{\text{new}} \ge k \implies \text{accurate}",
    plain=f"{_SETTING}: with FedRep's representation a new client's model is accurate from "
    "m_new = k on.",
    **_FIGURE4,
)
def threshold(budget, rng, *, factor=1.0):
    """Ask it of each m_new, as the sentence does. The control claims a factor."""
    over, (errors,), _ = newcomers(budget, rng, (2, 3, 4, 5, 10), ("FedRep",))
    errors = np.stack([errors] * len(LEFT))
    yield Comparison(
        factor * errors,
        np.broadcast_to(_limits(errors), errors.shape),
        over={"explains": LEFT, **over},
        each="m_new",
        name="accurate",
        about=ABOUT | {"explains": "the share of a new client's model from which it is accurate"},
        phrase="allows an accurate model to be found for the new client as long as m_new ≥ k",
    )


@statement(
    "fedrep.figure4.threshold.corrected",
    latex=r"m_{\text{new}} \ge k + 2 \iff \mathbb E\,\text{error} < \infty",
    plain=f"{_SETTING}, T = 100: in the mean over new clients their error with FedRep's "
    "representation is below a quarter of the zero model's at m_new = k + 2, 10, not at m_new = k.",
    corrects="fedrep.figure4.threshold",
    **_FIGURE4 | {"negative_control": {"excess": 0}},
)
def threshold_corrected(budget, rng, *, excess=2):
    """Compare means over new clients with a quarter, in the median over runs, with A.1's data."""
    sizes = (FIGURE.k, FIGURE.k + excess, 10)
    over, (errors,), _ = newcomers(budget, rng, sizes, ("FedRep",))
    means = errors[0, over["rounds"].index(100), list(AVERAGES).index("mean")]
    limit = np.full(means.shape[-1], 0.25)
    yield Paired(limit, means[0], name="not accurate", setting={"m_new": sizes[0]})
    for m, error in zip(sizes[1:], means[1:], strict=True):
        yield Paired(error, limit, name=f"accurate, m_new = {m}", setting={"m_new": m})


@statement(
    "fedrep.figure4.fedsgd",
    latex=r"\text{FedSGD does not learn } B^*",
    plain=f"{_SETTING}: a new client's error with FedSGD's representation is large, as FedSGD does "
    "not learn B*.",
    **_FIGURE4,
)
def figure4_fedsgd(budget, rng, *, factor=1.0):
    """Compare errors with what is large, and distances with 1/2, from both starts in question.

    The paper names no start of FedSGD. The control claims a factor.
    """
    starts = ("a random start", "FedRep's start")
    over, (own, *errors), (_, *distances) = newcomers(
        budget, rng, (5, 10, 20), ("FedRep", *starts[: budget(1, 2)])
    )
    words = (*(f"error explains less than {share}" for share in LEFT), "error above FedRep's",
             "distance above 1/2")  # fmt: skip
    larger, smaller = [], []
    for error, far in zip(errors, distances, strict=True):
        fixed = np.stack([error] * len(LEFT))
        larger.append([*fixed, error, np.broadcast_to(far[:, :, None, None], error.shape)])
        limits = np.broadcast_to(_limits(fixed), fixed.shape)
        smaller.append([*limits, own, np.full_like(error, 0.5)])
    yield Comparison(
        factor * np.array(smaller),
        np.array(larger),
        over={"start": starts[: len(errors)], "large": words, **over},
        each="m_new",
        name="does not learn",
        about=ABOUT
        | {"start": "FedSGD's, of which the paper says nothing", "large": "what a large error is"},
        phrase="The large error for FedSGD demonstrates that it does not learn the ground-truth "
        "representation",
    )


def _limits(errors):
    """Return what is accurate, along the first axis of errors."""
    return np.reshape(list(LEFT.values()), (-1, *[1] * (errors.ndim - 1)))


def newcomers(budget, rng, sizes, methods):
    """Return axes, and new clients' errors over the zero model's and distances to B*, by method.

    Axes are data, lengths, averages over new clients, and m_new; of distances the first two alone.
    """
    at, data = AT[: budget(3, len(AT))], tuple(DATA)[: budget(1, 4)]
    seeds = draw_seeds(rng, budget(60, 150))
    pairs = [[_newcomers(seed, sizes, methods, at, **DATA[own]) for own in data] for seed in seeds]
    errors, distances = (
        np.moveaxis(np.array([[own[which] for own in run] for run in pairs]), (0, 1), (-1, 1))
        for which in range(2)
    )
    over = {"data": data, "rounds": at, "over new clients": AVERAGES, "m_new": sizes}
    return over, errors, distances


def _newcomers(seed, sizes, methods, at, **options):
    truth, data = draw_problem(FIGURE, seed, **options)
    rng = np.random.default_rng([seed, 4])
    heads = rng.standard_normal((FIGURE.new, FIGURE.k))
    length = np.sqrt(np.mean(np.sum(truth.W**2, axis=1)))
    heads *= length / np.linalg.norm(heads, axis=1, keepdims=True)
    clients = truth.with_heads(heads)
    samples = [clients.draw(m, rng=rng) for m in sizes]
    errors, distances = [], []
    for method in methods:
        frames = _representations(method, data, seed, at)
        every = np.array(
            [[squared_errors(models_on(B, own), clients) for own in samples] for B in frames]
        )
        errors.append(
            [[of(each, axis=-1) / length**2 for of in AVERAGES.values()] for each in every]
        )
        distances.append([distance(B, truth.B) for B in frames] if method != "local" else at)
    return errors, distances


def _representations(method, data, seed, at):
    """Return a method's B after each number of rounds; FedSGD is named by its start."""
    if method == "local":
        return [np.eye(FIGURE.d)] * len(at)
    start: Any = lr.projected_gradient_start(data, FIGURE.k)
    if method == "a random start":
        start = lr.random_start(data.n, data.d, FIGURE.k, seed)
    learn: Any = lr.fedsgd
    run: dict[str, Any] = {"k": FIGURE.k, "step_size": FEDSGD_STEP}
    if method == "FedRep":
        learn, run = lr.fedrep, {"k": FIGURE.k}
    found = []
    for before, rounds in pairwise((0, *at)):
        start = learn(data, start=start, rounds=rounds - before, **run)
        found.append(start.state["B"])
    return found
