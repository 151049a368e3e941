"""Examples 1 to 3: clients of opposite labels, clusters of clients, ratings seen in part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize
from scipy.special import expit

import linrep as lr
from linrep.algorithms import personalized
from linrep.claims import Identity, Paired, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import equal, measured
from linrep.claims.measurements import Array
from linrep.claims.tables import curve, draw_seeds
from linrep.problems import personal

LOSSES = ("logistic", "hinge", "least squares")


# Example 1.


def optimum(loss: str, X: Array, y: Array, ridge: float, rng) -> Array | None:
    """Return the minimizer of a mean loss of margins, from a random start; None without one.

    The hinge loss is a linear program, without a ridge. No minimizer: samples that a hyperplane
    separates, for it and, without a ridge, for the logistic loss.
    """
    m, d = X.shape
    if loss == "least squares":
        # With fewer samples than dimensions, the shortest of many.
        tall = np.vstack([X, np.sqrt(m * ridge) * np.eye(d)])
        return np.linalg.lstsq(tall, np.append(y, np.zeros(d)), rcond=None)[0]
    Z = y[:, None] * X
    if loss == "hinge" or ridge == 0.0:
        cost = np.append(np.zeros(d), np.ones(m) / m)
        bounds = [(None, None)] * d + [(0.0, None)] * m
        hinge = linprog(cost, -np.hstack([Z, np.eye(m)]), -np.ones(m), bounds=bounds)
        if hinge.fun < 1e-9:
            return None
        if loss == "hinge":
            return hinge.x[:d]

    def value(theta):
        return np.mean(np.logaddexp(0.0, -Z @ theta)) + 0.5 * ridge * theta @ theta

    def slope(theta):
        return -Z.T @ expit(-Z @ theta) / m + ridge * theta

    def curvature(theta):
        weight = expit(Z @ theta) * expit(-Z @ theta)
        return (Z.T * weight) @ Z / m + ridge * np.eye(d)

    start, options = rng.standard_normal(d), {"gtol": 1e-8}
    theta = minimize(
        value, start, jac=slope, hess=curvature, method="trust-exact", options=options
    ).x
    for _ in range(3):  # from there on Newton's steps need no safeguard
        theta = theta - np.linalg.solve(curvature(theta), slope(theta))
    return theta


def labelled(budget, rng) -> Iterator[tuple[Array, Array, float, dict[str, Any]]]:
    """Yield covariates, labels -1 and 1, a ridge, and what tells them apart."""
    for d, many, intercept, ridge, scale in product(
        (1, 2, 5, 20),
        (0.5, 4, 20),
        (False, True),
        (0.0, 1e-3, 1.0),
        budget((1.0,), (1e-2, 1.0, 1e2)),
    ):
        m = max(2, round(many * d))
        X = scale * rng.standard_normal((m, d))
        if intercept:
            X = np.hstack([np.ones((m, 1)), X])
        y = np.where(rng.random(m) < expit(X[:, 0] / scale), 1.0, -1.0)
        at = {"d": d, "m": m, "intercept": intercept, "ridge": ridge, "scale": scale}
        yield X, y, ridge, at


@statement(
    "pflmf.example1",
    place="Example 1",
    latex=r"\theta^*_{group1} = -\theta^*_{group2}, \text{ distant in all norms}",
    plain="Two groups that label with opposite signs have opposite linear classifiers.",
    negative_control={"sign": 1.0},
    stronger={"sign": 0},
)
def example1(budget, rng, *, sign=-1.0):
    """Solve for both groups from unlike starts, with the same covariates."""

    def optima():
        """Yield group 2's optimum and `sign` times group 1's, where no hyperplane separates."""
        for loss, (X, y, ridge, at) in product(LOSSES, list(labelled(budget, rng))):
            if loss == "hinge" and ridge > 0.0:
                continue
            order = rng.permutation(len(y))  # of samples: the second solver is not a mirrored first
            one = optimum(loss, X, y, ridge, rng)
            two = optimum(loss, X[order], -y[order], ridge, rng)
            if one is not None and two is not None:
                yield f"{loss}, opposite", equal(two, sign * one), at
                apart = np.linalg.norm(two - one), 2.0 * np.linalg.norm(one)
                yield f"{loss}, twice the norm apart", equal(*apart), at

    def coded():
        """Yield the same for what stands for the labels, by least squares with an intercept."""
        for X, y, _, at in labelled(budget, rng):
            if not at["intercept"] or len(X) < 2 * X.shape[1]:
                continue
            pairs = {"-1 and 1": (y, -y), "0 and 1": (0.5 + 0.5 * y, 0.5 - 0.5 * y)}
            for name, pair in pairs.items():
                one, two = (optimum("least squares", X, each, 0.0, rng) for each in pair)
                assert one is not None
                yield f"labels {name}", equal(two, sign * one), at

    yield from measured(optima(), tolerance=1e-6, strength=PROVED).values()
    signs, bits = measured(coded(), tolerance=1e-6).values()
    yield Readings(
        [replace(signs, strength=PROVED), bits],
        name="least squares, labels",
        phrase="label the classes in opposite ways",
    )


# Example 2.


def alternating(A: Array, H: Array, k: int, rng, steps: int = 20_000) -> float:
    """Return the least mean of (a_i - x_i)'H(a_i - x_i)/2 at rank k, by alternating solutions."""
    U, value = rng.standard_normal((A.shape[1], k)), np.inf
    for _ in range(steps):
        V = np.linalg.solve(U.T @ H @ U, U.T @ H @ A.T).T
        U = np.linalg.solve(V.T @ V, V.T @ A).T
        U = np.linalg.qr(U)[0]
        V = np.linalg.solve(U.T @ H @ U, U.T @ H @ A.T).T
        E = A - V @ U.T
        previous, value = value, 0.5 * float(np.einsum("ij,jk,ik->", E, H, E)) / len(A)
        if previous - value <= 1e-12 * value:
            break
    return value


@statement(
    "pflmf.example2",
    place="Example 2; (5)",
    latex=r"\theta_i \in \{\theta^{(1)}, \dots, \theta^{(r)}\} \Rightarrow "
    r"\mathrm{rank}(\Theta^*) \le r",
    plain="Clients from r distributions have optima of rank at most r: (5) loses nothing.",
    negative_control={"missing": 1},
)
def example2(budget, rng, *, missing=0):
    """Fit clients by themselves; compare optima of rank r and r - 1 with the singular values.

    `missing` is how many less than r the rank is claimed to be.
    """
    n, d = 60, 10
    rank, whole = "rank of the clients' own optima", "nothing is lost at rank r"
    tails = "rank r - 1 loses the tail"
    found: dict[str, list] = {rank: [], whole: [], tails: []}
    kinds = ("equal", "unequal", "collinear")
    for r, kind, _ in product((1, 2, 3, 4, 5), kinds, range(budget(1, 5))):
        models, at = rng.standard_normal((r, d)), {"r": r, "clusters": kind}
        if kind == "collinear":
            models = np.outer(rng.standard_normal(r), models[0])
        # Where clusters are unequal, all but one have a single client.
        member = np.minimum(np.arange(n), r - 1) if kind == "unequal" else np.arange(n) % r
        truth = models[member]
        X = rng.standard_normal((n, 3 * d, d))
        samples = [(x, x @ theta) for x, theta in zip(X, truth, strict=True)]
        fitted = lr.LeastSquaresObjectives(lr.ClientData.from_list(samples)).minimizers
        s = np.linalg.svd(fitted, compute_uv=False)
        beyond = s[max(1, r - missing) :].max() / s[0] if r > missing else 1.0
        found[rank].append((beyond, at))
        for condition in (1.0, 1e3):
            # Population functions: all clients share the covariates' covariance H.
            frame = np.linalg.qr(rng.standard_normal((d, d)))[0]
            root = (frame * np.geomspace(1.0, condition**-0.5, d)) @ frame.T
            H = root @ root
            tail = np.linalg.svd(truth @ root, compute_uv=False)
            scale = float(tail @ tail) / (2.0 * n)
            for name, k in ((whole, r - missing), (tails, r - 1)):
                if k < 1 or tail[k - 1] <= 1e-8 * tail[0]:
                    continue
                problem = lr.QuadraticObjectives(truth, 0.5 * (H + H.T))
                best = problem.best(k)
                assert best is not None
                lost = float(tail[k:] @ tail[k:]) / (2.0 * n) if name == tails else 0.0
                for value in (problem.value(best.theta), alternating(truth, H, k, rng)):
                    where = {**at, "k": k, "condition": condition}
                    found[name].append((abs(value - lost) / scale, where))
    for name, each in found.items():
        yield Identity(each, 1e-8, name=name, strength=PROVED)


# Example 3.

CLIENTS, ITEMS, NOISE = 40, 30, 0.1
FACTORS = (1, 2, 3)
#: Ratings beside the numbers in U and V, less the k^2 that say nothing.
ENOUGH = 4.0
#: Kinds of ratings, and whether scores that all clients share are one more factor.
KINDS = {"factors": 0, "factors around common scores": 1, "positions": 0, "whims": 1}
SHARES = (0.03, 0.06, 0.1, 0.2, 0.4, 0.6, 0.8)


def ratings(kind: str, k: int, rng) -> Array:
    """Draw ratings of variance about 1: of k factors, of positions in a plane, or without any."""
    n, d = CLIENTS, ITEMS
    if kind == "factors":
        M = rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) / np.sqrt(k)
    elif kind == "factors around common scores":
        M = 3.0 * rng.standard_normal(d) + ratings("factors", k, rng)
    elif kind == "positions":  # an analytic function of two numbers for each client and item
        u, w = rng.standard_normal((n, 1, 2)), rng.standard_normal((1, d, 2))
        M = 4.0 * np.exp(-0.5 * np.sum((u - w) ** 2, axis=2))
    else:  # common scores and whims
        M = rng.standard_normal(d) + rng.standard_normal((n, d))
    return M + NOISE * rng.standard_normal((n, d))


def seen_in_part(M: Array, share: float, rng) -> NDArray[np.bool_]:
    """Draw what is seen: entries by themselves, at least one of every item and every client."""
    mask = rng.random(M.shape) < share
    n, d = M.shape
    mask[rng.integers(n, size=d), np.arange(d)] = True
    mask[np.arange(n), rng.integers(d, size=n)] = True
    return mask


def item_means(M: Array, mask: NDArray[np.bool_]) -> Array:
    """Return the mean of the ratings that each item was given."""
    return np.sum(M * mask, axis=0) / mask.sum(axis=0)


def factorized(M: Array, mask: NDArray[np.bool_], k: int, rounds: int = 1000) -> Array:
    """Return the models of pFL^MF with all clients, from the spectral start."""
    problem = personal.masked(M, mask)
    step = 0.5 * len(M) * mask.mean() / float(np.linalg.norm(problem.A, 2))
    state = lr.pflmf(
        problem,
        k=k,
        step_size=step,
        head_step_size=step,
        start="spectral",
        rounds=rounds,
        record=rounds,
        stationarity=False,
    ).state
    return state["V"] @ state["U"].T


def oversampling(share: float, k: int) -> float:
    """Return ratings seen per number that matters in factors of rank k."""
    return share * CLIENTS * ITEMS / (k * (CLIENTS + ITEMS - k))


def held_out(kind, factors, k, share, seeds):
    """Return root mean squared errors on what is not seen: pFL^MF's of rank k, items' means'."""
    errors = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        M = ratings(kind, factors, rng)
        mask = seen_in_part(M, share, rng)
        models = factorized(M, mask, k), np.broadcast_to(item_means(M, mask), M.shape)
        errors.append([np.sqrt(np.mean((theta - M)[~mask] ** 2)) for theta in models])
    return np.array(errors).T


@statement(
    "pflmf.example3",
    place="Example 3",
    latex=r"\text{held-out error: low-rank factorization} < \text{Euclidean distance}",
    plain="Low rank predicts unseen ratings generated by factors, once 4 per degree of freedom "
    "are seen; closeness does not.",
    negative_control={"swapped": True},
    stronger={"enough": -1},
)
def example3(budget, rng, *, swapped=False, enough=ENOUGH):
    """Complete synthetic ratings; distance-regularized models are the items' means where unseen.

    Decided for `enough` ratings per degree of freedom or more; below, the picture tells. Ratings
    without factors are the control: there closeness is right.
    """
    seeds = draw_seeds(rng, budget(28, 80, 400))

    def by_distance():
        """Yield deviations of distance-regularized models from the items' means where unseen."""
        for share in budget((0.5,), (0.2, 0.5, 0.9)):
            M = ratings("factors around common scores", 3, rng)[:20, :20]
            mask = seen_in_part(M, share, rng)
            problem, means = personal.masked(M, mask), item_means(M, mask)
            for penalty, center in product((1.0, 30.0), personalized.CENTERS):
                trace = personalized.distance_regularized(
                    problem, penalty=penalty, center=center, rounds=20_000, tolerance=1e-9
                )
                off = np.abs(trace.state["theta"] - means)[~mask].max() / np.abs(means).max()
                yield off, {"share": share, "penalty": penalty, "center": center}
            for penalty in np.geomspace(1e-6, 1e6, 7):
                # The closed form leaves no gradient, at penalties that no descent gets through.
                theta = np.where(mask, (M + penalty * means) / (1.0 + penalty), means)
                pull = penalty * (theta - theta.mean(axis=0))
                left = np.abs(problem.gradients(theta) + pull).max() / np.abs(pull).max()
                yield left, {"share": share, "penalty": float(penalty), "center": "mean"}

    yield Identity(by_distance(), 1e-6, name="closeness predicts the items' means")
    for (kind, around), factors, share in product(KINDS.items(), FACTORS, SHARES):
        k = factors + around  # common scores are a factor of their own
        if oversampling(share, k) < enough:
            continue
        low_rank, means = held_out(kind, factors, k, share, seeds)
        pair = (means, low_rank) if swapped != (kind == "whims") else (low_rank, means)
        yield Paired(
            *pair,
            quantity="median ratio of held-out errors",
            name=f"{kind}, rank {k}, {share:g} seen",
            setting={"ratings": kind, "k": k, "share": share},
        )
    # From how many ratings on low rank is better.
    rows = []
    for factors, share in product(FACTORS, SHARES):
        k = factors + 1
        pair = held_out("factors around common scores", factors, k, share, seeds[: budget(4, 30)])
        rows.append((f"rank {k}", oversampling(share, k), float(np.median(pair[0] / pair[1]))))
    series, x, y = zip(*rows, strict=True)
    labels = {"xlabel": "ratings over degrees of freedom", "ylabel": "error over items' means'"}
    yield curve(panel="", series=series, x=x, y=y, predicted=1.0, **labels)
