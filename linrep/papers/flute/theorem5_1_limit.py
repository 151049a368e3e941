"""Theorem 5.1 for normal covariates, of what runs end at: what is proved here beside the paper."""

from fractions import Fraction as Q
from typing import Any

import numpy as np

import linrep as lr
from linrep.claims import Cases, Frequency, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, Root, at_most, lines
from linrep.papers.flute.model import FULL, GAUSSIAN, UP_TO_THE_RANK
from linrep.papers.flute.runs import draw_moments, truth_of
from linrep.papers.flute.settings import NOISE
from linrep.problems import ClientData
from linrep.theory.flute_limit import Perturbation, limit, perturbation

FAILURE = 0.05  # delta
#: Without noise, on samples as few as there are numbers; with much; and the models of Figure 3.
SAMPLES: list[dict[str, Any]] = [
    {"values": [1.0, 0.5], "k": 1, "n": 2, "d": 2, "noise": 0.0, "m": 20},
    {"values": [1.0, 0.9, 0.3, 0.1], "k": 2, "n": 8, "d": 8, "noise": 1.0, "m": 300},
    {
        "values": [20.0 / (i + 1.0) for i in range(1, 11)], "k": 2, "n": 15, "d": 10,
        "noise": NOISE, "m": 2000,
    },
]  # fmt: skip
CLAIM = "flute.theorem5.1.limit"


# Steps of the derivation, lambda_1 = 1 in the first.


@lines(CLAIM, Region(
    eta=(Open(0), Q(1, 3)), root=Root(Q(5, 2)), s=lambda root: (0, root), size=(0, Q(6, 5)),
    rho=(0, Q(1, 15)),
), steps=["ball", "descent", "invertible"])  # fmt: skip
def basin(eta, root, s, size, rho):
    """Keep runs in the ball, where |Phi + E| is the size."""
    return {
        "ball": at_most(s - eta * s**3 / 2 + eta * size * root, root),
        "descent": at_most(eta * ((Q(3, 2) + 2 * rho) * Q(5, 2) + size), Q(177, 100)),
        "invertible": at_most(eta * 2 * (1 + rho) * size, Q(86, 100)),
    }


@lines(CLAIM, Region(
    c=(0, Open(1)), e=(0, Open(1)), theta=(0, 1), rho=lambda theta: (0, 1 - theta),
    leading=lambda e: (1 - e, None), rest=lambda c, e: (0, c + e),  # sigma_k(X), |G| over lambda_k
), steps=["top", "curvature"])  # fmt: skip
def weyl(c, e, theta, rho, leading, rest):
    """Leave the top of Phi + E only, with its curvature."""
    return {
        "top": at_most(theta * (1 + rho) * (1 - e), 1 - e),
        "curvature": at_most((1 - rho) * (1 - e) - c - e, (1 - rho) * leading - rest),
    }


def sizes(truth, k, off, zeta) -> Perturbation:
    """Return the sizes of S_i - I and of zeta."""
    U, _, V = truth.svd
    along = U.T @ zeta @ V
    along[k:, k:] = 0.0
    largest = np.abs(np.linalg.eigvalsh(off)).max(), np.linalg.norm(zeta, 2)
    return Perturbation(*map(float, largest), float(np.linalg.norm(along)))  # type: ignore[call-arg]


def perturbed(truth, k, off, zeta) -> ClientData:
    """Return d samples per client that change the second moments and Phi_k's gradients so."""
    U, _, _ = truth.svd
    residuals = U[:, k:] @ U[:, k:].T @ truth.Phi
    noise = zeta - np.einsum("iab,bi->ai", off, residuals)
    factor = np.linalg.cholesky(np.eye(truth.d) + off)
    labels = np.einsum("iba,bi->ia", factor, truth.Phi)
    labels += np.linalg.solve(factor, noise.T[:, :, None])[:, :, 0]
    rows = np.sqrt(truth.d) * np.swapaxes(factor, 1, 2).reshape(-1, truth.d)
    offsets = np.arange(truth.n + 1) * truth.d
    return ClientData(rows, np.sqrt(truth.d) * labels.ravel(), offsets)


def instances(count, rng):
    """Yield truths, ranks, S_i - I, and zeta at random or where it turns the models most."""
    for number in range(count):
        n, d = (int(size) for size in rng.integers(2, 6, 2))
        k = int(rng.integers(1, min(n, d - 1) + 1))
        values = np.sort(rng.uniform(0.2, 1.0, min(n, d)))[::-1]
        values[k:] *= rng.choice([0.0, 0.5, 0.9])
        truth = truth_of(values, n, d, rng)
        U, _, V = truth.svd
        zeta = rng.standard_normal((d, n))
        if number % 2 and k < min(n, d):
            zeta = np.outer(U[:, k - 1], V[:, k]) + np.outer(U[:, k], V[:, k - 1])
        size = rng.choice([1e-4, 1e-2, 0.2]) * (1.0 - np.append(values, 0.0)[k] / values[k - 1])
        turns = np.stack([np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(n)])
        off = turns * rng.choice([-1.0, 1.0], (n, 1, d)) @ np.swapaxes(turns, 1, 2)
        off *= 0.3 * size * rng.choice([0.0, 0.1, 1.0])
        yield truth, k, off, size * values[k - 1] * zeta / np.linalg.norm(zeta, 2)


def ends(count, rng):
    """Yield a row per run from a start at random in the ball to the end, at the longest step."""
    for truth, k, off, zeta in instances(count, rng):
        changed, first = sizes(truth, k, off, zeta), float(truth.singular_values[0])
        promised = limit(truth, k, changed)
        start = rng.standard_normal((truth.d + truth.n, k))
        start *= rng.choice([1e-3, 0.3, 1.0]) * np.sqrt(2.5 * first) / np.linalg.norm(start, 2)
        if np.isfinite(promised.distance):
            end = lr.flute(
                perturbed(truth, k, off, zeta), k=k, step_size=1.0 / (3.0 * first),
                start=(start[: truth.d], start[truth.d :]), rounds=60_000, record=[60_000],
                tolerance=1e-14,
            ).state  # fmt: skip
            best = truth.best(k)
            left = np.linalg.norm(end["B"] @ end["W"].T - best.B @ best.W.T)
            at = {"singular values": truth.singular_values.tolist(), "k": k, **changed._asdict()}
            yield float(left), promised.distance, at


def events(runs, rng, *, values, k, n, d, noise, m) -> int:
    """Count how often one of the bounds on what samples change does not hold."""
    truth, count = truth_of(values, n, d, rng, noise=noise), 0
    U, bounds = truth.svd[0], perturbation(truth, k, m, failure=FAILURE)
    residuals = U[:, k:] @ U[:, k:].T @ truth.Phi
    for _ in range(runs):
        sample = draw_moments(truth, m, 1, rng)[0]
        off = sample[:, :d, :d] - np.eye(d)
        zeta = np.einsum("iab,bi->ai", off, residuals) + noise * sample[:, :d, d].T
        found = sizes(truth, k, off, zeta)
        count += any(own > bound for own, bound in zip(found, bounds, strict=True))
    return count


@statement(
    "flute.theorem5.1.limit",
    own=True,
    place="Theorem 5.1",
    latex=r"\rho = 2t + t^2,\ \theta = \tfrac{c + e}{1 - e} < 1 - \rho,\ 3\rho < 1 - c,\ \mu > 0,\ "
    r"z + \tfrac94\sqrt{2k}\rho\lambda_1 \le \tfrac15\lambda_1,\ \eta \le \tfrac1{3\lambda_1} "
    r"\Rightarrow \Pr\Big[\text{for almost every start } \|(B^0, W^0)\|^2 \le \tfrac52\lambda_1:\ "
    r"\exists\lim B^tW^t,\ \tfrac1M\sum_i\|B^\infty w_i^\infty - B^*w_i^*\| \le "
    r"\tfrac T{\sqrt M\mu}\Big] \ge 1 - \delta,\quad c = \tfrac{\lambda_{k+1}}{\lambda_k},\ "
    r"\mu = 1 - \rho - \tfrac{c + \theta}2 - \tfrac z{(1 - e)\lambda_k},\ "
    r"e = \tfrac1{\lambda_k}\Big(z + \tfrac{2\rho\sqrt{T^2 + kz^2}}{1 - c - 3\rho}\Big)",
    plain="For normal covariates FLUTE converges from almost every start, at steps up to "
    "1/(3 lambda_1), to an error of order sqrt(k (d + M)(mean |r|^2 + sigma^2)/(M N)) over "
    "1 - lambda_{k+1}/lambda_k if no client has much of V_k, late at a rate near eta Delta/2 "
    "(derived here, which does not say how many rounds it takes).",
    hypotheses=(UP_TO_THE_RANK, GAUSSIAN, FULL),
    corrects="flute.theorem5.1",
    stronger={"share": -1},
    negative_control={"share": 0.97},
)
def theorem_5_1_limit(budget, rng, *, share=1.0):
    """Run to the end on perturbed second moments, and draw samples for the bounds' events.

    t, z and T, of order 1/sqrt(N), are in the derivation and in linrep.theory.flute_limit: rho and
    z bound what samples change in the second moments and at the best models, T what of the latter
    is along matrices of rank k. The error is the share of T/(sqrt(M) mu). Late, rounds shrink what
    is left by 1 - eta lambda_k (1 - e)(1 - rho - theta), which is 1 - eta Delta/2 at N = oo.
    """
    proof = PROVED if share >= 1.0 else ""
    cases = [
        (left, float(share) * most, at) for left, most, at in ends(budget(100, 400, 2000), rng)
    ]
    quantity = "distance from the best models at the end"
    yield Cases(cases, quantity=quantity, name="ends of runs", strength=proof)
    for setting in SAMPLES:
        runs = budget(400, 1000, 4000)
        count = events(runs, rng, **setting)
        name = f"bounds on what samples change, M = {setting['n']}, noise {setting['noise']:g}"
        yield Frequency(count, runs, FAILURE, name=name, setting=setting, strength=proof)
