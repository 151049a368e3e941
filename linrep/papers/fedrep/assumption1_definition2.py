"""Assumption 1 and Definition 2: sub-Gaussian covariates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import hyp0f1
from scipy.stats import t as student

from linrep.claims import Cases, Condition, Mean, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.claims.quantities import LOWER, VALUE
from linrep.papers.fedrep._common import DESIGNS, covariates
from linrep.problems.subspace import random_frame

ROOT3 = float(np.sqrt(3.0))


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
    shapes = [{"d": 1}, {"d": 2}, {"d": 5}]
    for design in DESIGNS:

        def moments(of, design=design):
            return _mgf(design, of.v), np.exp(proxy * of.size**2 / 2.0)

        def fourth(of, design=design):
            return _fourth(design, of.v), moment * of.size**4

        for sides, name in ((moments, "E exp(v'x)"), (fourth, "E (v'x)^4 <= 3 |v|^4")):
            name = f"{design}: {name}"
            yield search_instances(sides, shapes, _vector, budget, rng, name=name, strength=PROVED)
        if budget.name != "quick" or design == "gaussian":
            name = f"{design}: Definition 2, sharp"
            yield search_instances(
                moments, shapes[:2], _image, budget, rng, name=name, strength=PROVED
            )
        yield _orlicz(design, proxy, rng)
        yield from _sampled(design, budget(20_000, 400_000), rng)
    yield from _controls()


class _Direction(NamedTuple):
    """A vector v, and what its length is at most."""

    v: Array
    size: float


def _vector(reader, shape):
    v = reader.numbers(shape["d"])
    length = float(np.linalg.norm(v))
    return None if length > 3.0 else _Direction(v, length)


def _image(reader, shape):
    A, y = reader.numbers(shape["d"], shape["d"]), reader.numbers(shape["d"])
    size = float(np.linalg.norm(y) * np.linalg.norm(A, 2))
    return None if size > 3.0 else _Direction(A @ y, size)


def _mgf(design, v):
    """Return E exp(v'x)."""
    if design == "gaussian":
        return float(np.exp(v @ v / 2.0))
    if design == "rademacher":
        return float(np.prod(np.cosh(v)))
    if design == "uniform":
        u = ROOT3 * np.asarray(v)
        safe = np.where(np.abs(u) < 1e-4, 1.0, u)
        return float(np.prod(np.where(np.abs(u) < 1e-4, 1.0 + u**2 / 6.0, np.sinh(safe) / safe)))
    d = len(v)
    return float(hyp0f1(d / 2.0, d * (v @ v) / 4.0))


def _fourth(design, v):
    """Return E (v'x)^4."""
    square = v @ v
    if design == "sphere":
        return 3.0 * len(v) / (len(v) + 2.0) * square**2
    kurtosis = {"gaussian": 3.0, "rademacher": 1.0, "uniform": 1.8}[design]
    return 3.0 * square**2 + (kurtosis - 3.0) * np.sum(v**4)


def _orlicz(design, proxy, rng):
    """Compare the sub-Gaussian norm of v'x, |v| = 1, with sqrt(8/3): Definition 2, O(.).

    E exp(3 (v'x)^2/8) is the mean of E exp(sqrt(3/4) g v'x) over a standard normal g; equal to 2
    for Gaussian x. The sharp reading bounds it: a mean of exp(3 g^2/8).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    allowed = 2.0 * (1.0 + 1e-9)
    cases = []
    for d in (1, 2, 5, 40):
        for v in (np.eye(d)[0], np.full(d, d**-0.5), random_frame(d, 1, rng)[:, 0]):
            values = [_mgf(design, np.sqrt(0.75 * proxy) * g * v) for g in nodes]
            cases.append((float(weights @ values), allowed, {"design": design, "v": v.tolist()}))
    return Cases(
        cases, name=f"{design}: Definition 2, O(.)", quantity="E exp(3 (v'x)^2/8)", strength=PROVED
    )


def _sampled(design, size, rng):
    """Yield samples against mean 0, covariance I and the closed form of E exp(v'x), |v| = 0.7."""
    d = 4
    v = 0.7 * random_frame(d, 1, rng)[:, 0]
    products = covariates(design, size, d, rng) @ v
    for name, samples, expected, quantity in (
        ("mean", products, 0.0, "E v'x"),
        ("covariance", products**2, float(v @ v), "E (v'x)^2"),
        ("sampled E exp(v'x)", np.exp(products), _mgf(design, v), "E exp(v'x)"),
    ):
        yield Mean(
            samples,
            equals=expected,
            name=f"{design}: {name}",
            setting={"design": design},
            quantity=quantity,
            strength=PROVED,
        )


def _controls():
    """Yield, for laws of mean 0 and variance 1 that violate the assumption, that they do."""
    grid = np.concatenate([-np.geomspace(0.01, 3.0, 60), np.geomspace(0.01, 3.0, 60)])
    bound = np.exp(grid**2 / 2.0)
    nu = 5.0
    scale = np.sqrt(nu / (nu - 2.0))
    # A finite piece of an infinite integral is a lower bound.
    tail = quad(lambda x: np.cosh(x) * 2.0 * scale * student.pdf(scale * x, nu), 0.0, 40.0)[0]
    found = {
        "Student-t": (tail, np.exp(0.5), 1.0),
        "scale mixture": _largest(
            np.mean([np.exp(s * grid**2 / 2.0) for s in (0.5, 1.5)], axis=0), bound, grid
        ),
        # 2 with probability 1/5, -1/2 with 4/5
        "skewed": _largest(0.2 * np.exp(2.0 * grid) + 0.8 * np.exp(-0.5 * grid), bound, grid),
    }
    for name, (left, right, v) in found.items():
        yield Condition(
            left > right * (1.0 + 1e-9),
            left,
            right,
            setting={"law": name, "v": v},
            name=f"{name} covariates violate it",
            quantity="E exp(v'x)",
            strength=PROVED,
            measured_is=LOWER if name == "Student-t" else VALUE,
        )


def _largest(left, right, grid):
    """Return lhs and rhs, and the place where their ratio is largest."""
    place = np.argmax(left / right)
    return float(left[place]), float(right[place]), float(grid[place])
