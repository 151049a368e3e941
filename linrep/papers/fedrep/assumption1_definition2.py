"""Assumption 1 and Definition 2: sub-Gaussian covariates."""

import numpy as np
from numpy.linalg import norm
from scipy.special import hyp0f1

from linrep.claims import search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.papers.fedrep.model import DESIGNS
from linrep.problems.subspace import random_frame


@statement(
    "fedrep.assumption1",
    place="Assumption 1, Definition 2",
    latex=r"\mathbb E x = 0,\quad \mathbb E xx^\top = I_d,\quad"
    r"\mathbb E e^{v^\top x} \le e^{\|v\|_2^2/2}; \qquad"
    r"\mathbb E e^{y^\top A^\top x} \le e^{\|y\|_2^2\|A\|_2^2/2}",
    plain="Gaussian, sign, uniform and sphere covariates are sub-Gaussian with constant 1.",
    stronger={"proxy": -1, "moment": -1},
    negative_control={"proxy": 0.9},
)
def assumption1(budget, rng, *, proxy=1.0, moment=3.0):
    """Search the closed forms of four designs."""
    for design in DESIGNS:
        for name, sides, arrays in closed_forms(design, proxy, moment):
            shapes = [{"d": d} for d in ((1, 2, 5) if len(arrays) == 1 else (1, 2))]
            yield search_instances(
                sides, shapes, arrays, budget, rng, name=f"{design}: {name}", strength=PROVED
            )
        yield from measured(
            orlicz(design, proxy, rng), quantity="E exp(3 (v'x)^2/8)", strength=PROVED
        ).values()


def closed_forms(design, proxy, moment):
    """Yield inequalities, |v| up to 3: their names, both sides, and arrays."""

    def moments(v, size):
        return (mgf(design, v), np.exp(proxy * size**2 / 2.0)) if size <= 3.0 else None

    def fourth_moments(v):
        size = float(norm(v))
        return (fourth(design, v), moment * size**4) if size <= 3.0 else None

    def image(A, y):
        return moments(A @ y, float(norm(y) * norm(A, 2)))

    yield "E exp(v'x)", lambda v: moments(v, float(norm(v))), {"v": ("d",)}
    yield "E (v'x)^4 <= 3 |v|^4", fourth_moments, {"v": ("d",)}
    yield "Definition 2, sharp", image, {"A": ("d", "d"), "y": ("d",)}


def mgf(design, v):
    """Return E exp(v'x)."""
    if design == "gaussian":
        return float(np.exp(v @ v / 2.0))
    if design == "rademacher":
        return float(np.prod(np.cosh(v)))
    if design == "uniform":
        u = np.sqrt(3.0) * np.asarray(v)
        safe = np.where(np.abs(u) < 1e-4, 1.0, u)
        return float(np.prod(np.where(np.abs(u) < 1e-4, 1.0 + u**2 / 6.0, np.sinh(safe) / safe)))
    d = len(v)
    return float(hyp0f1(d / 2.0, d * (v @ v) / 4.0))


def fourth(design, v):
    """Return E (v'x)^4."""
    square = v @ v
    if design == "sphere":
        return 3.0 * len(v) / (len(v) + 2.0) * square**2
    kurtosis = {"gaussian": 3.0, "rademacher": 1.0, "uniform": 1.8}[design]
    return 3.0 * square**2 + (kurtosis - 3.0) * np.sum(v**4)


def orlicz(design, proxy, rng):
    """Yield that the sub-Gaussian norm of v'x, |v| = 1, is at most sqrt(8/3): Definition 2, O(.).

    E exp(3 (v'x)^2/8) is the mean of E exp(sqrt(3/4) g v'x) over a standard normal g; equal to 2
    for Gaussian x. The sharp reading bounds it: a mean of exp(3 g^2/8).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    for d in (1, 2, 5, 40):
        for v in (np.eye(d)[0], np.full(d, d**-0.5), random_frame(d, 1, rng)[:, 0]):
            mean = float(weights @ [mgf(design, np.sqrt(0.75 * proxy) * g * v) for g in nodes])
            at = {"design": design, "v": v.tolist()}
            yield f"{design}: Definition 2, O(.)", at_most(mean, 2.0), at
