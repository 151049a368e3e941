"""Assumption 1 and Definition 2: sub-Gaussian covariates."""

import numpy as np
from numpy.linalg import norm
from scipy.integrate import quad
from scipy.special import hyp0f1
from scipy.stats import t as student

from linrep.claims import Condition, Mean, search_instances, statement
from linrep.claims.evidence import LOWER, PROVED, VALUE
from linrep.claims.laws import at_most, measured
from linrep.papers.fedrep.model import DESIGNS, samples_of
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
    """Search the closed forms of four designs, sample them, and reject others."""
    for design in DESIGNS:
        sharp = design == "gaussian" or bool(budget(0, 1))
        for name, sides, arrays, dimensions in closed_forms(design, proxy, moment, sharp):
            yield search_instances(
                sides, [{"d": d} for d in dimensions], arrays, budget, rng,
                name=f"{design}: {name}", strength=PROVED,
            )  # fmt: skip
        yield from measured(
            orlicz(design, proxy, rng), quantity="E exp(3 (v'x)^2/8)", strength=PROVED
        ).values()
        yield from sampled(design, budget(20_000, 400_000), rng)
    for law, (left, right, v) in others():
        yield Condition(
            left > right * (1.0 + 1e-9), left, right, setting={"law": law, "v": v},
            name=f"{law} covariates violate it", quantity="E exp(v'x)", strength=PROVED,
            measured_is=LOWER if law == "Student-t" else VALUE,
        )  # fmt: skip


def closed_forms(design, proxy, moment, sharp):
    """Yield inequalities, |v| up to 3: their names, both sides, arrays, and dimensions."""

    def moments(v, size):
        return (mgf(design, v), np.exp(proxy * size**2 / 2.0)) if size <= 3.0 else None

    def fourth_moments(v):
        size = float(norm(v))
        return (fourth(design, v), moment * size**4) if size <= 3.0 else None

    vector = {"v": ("d",)}
    yield "E exp(v'x)", lambda v: moments(v, float(norm(v))), vector, (1, 2, 5)
    yield "E (v'x)^4 <= 3 |v|^4", fourth_moments, vector, (1, 2, 5)
    if sharp:
        image = {"A": ("d", "d"), "y": ("d",)}
        yield (
            "Definition 2, sharp",
            lambda A, y: moments(A @ y, float(norm(y) * norm(A, 2))), image, (1, 2),
        )  # fmt: skip


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


def sampled(design, size, rng):
    """Yield samples against mean 0, covariance I and the closed form of E exp(v'x), |v| = 0.7."""
    v = 0.7 * random_frame(4, 1, rng)[:, 0]
    products = samples_of(design, size, 4, rng) @ v
    for name, samples, expected, quantity in (
        ("mean", products, 0.0, "E v'x"),
        ("covariance", products**2, float(v @ v), "E (v'x)^2"),
        ("sampled E exp(v'x)", np.exp(products), mgf(design, v), "E exp(v'x)"),
    ):
        yield Mean(
            samples, equals=expected, name=f"{design}: {name}", setting={"design": design},
            quantity=quantity, strength=PROVED,
        )  # fmt: skip


def others():
    """Yield laws of mean 0 and variance 1 that violate the assumption: both sides, and where."""
    # A finite piece of an infinite integral is a lower bound.
    nu, scale = 5.0, np.sqrt(5.0 / 3.0)
    tail = quad(lambda x: np.cosh(x) * 2.0 * scale * student.pdf(scale * x, nu), 0.0, 40.0)[0]
    yield "Student-t", (tail, np.exp(0.5), 1.0)
    v = np.concatenate([-np.geomspace(0.01, 3.0, 60), np.geomspace(0.01, 3.0, 60)])
    right = np.exp(v**2 / 2.0)
    for law, left in (
        ("scale mixture", np.mean([np.exp(s * v**2 / 2.0) for s in (0.5, 1.5)], axis=0)),
        ("skewed", 0.2 * np.exp(2.0 * v) + 0.8 * np.exp(-0.5 * v)),  # 2 or -1/2, of 1/5 and 4/5
    ):
        place = np.argmax(left / right)
        yield law, (float(left[place]), float(right[place]), float(v[place]))
