"""Lemmas 3 to 7: norms, and the participation matrix."""

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.linalg import norm, svd

from linrep.claims.laws import Arrays, Grid, Open, Region, at_most, equal, law, lines

CHANCES = (1e-8, 1e-4, 0.02, 0.3, 0.5, 0.9, 1.0 - 1e-6, 1.0)


def squares(X) -> float:
    """Return ||X||_F^2."""
    return float(np.sum(X**2))


@law(
    "pflmf.lemma3", "Lemma 3", r"\|AB\|_F \le <factor>\|A\|_2 \|B\|_F",
    over=Arrays(
        {"l": 1, "m": 1, "n": 1}, {"l": 2, "m": 2, "n": 1}, {"l": 2, "m": 3, "n": 2}, A="lm", B="mn"
    ),
    wrong={"factor": 0.99}, stronger={"factor": -1},
)  # fmt: skip
def lemma3(A, B, *, factor=1.0):
    """The norm of a product is at most one factor's spectral norm times the other's
    Frobenius norm.
    """
    return at_most(norm(A @ B), factor * norm(A, 2) * norm(B))


@lemma3.attained("B's columns are A's first right singular vector", A="lm", b="n")
def _aligned(A, b):
    return {"A": A, "B": np.outer(svd(A)[2][0], b)}


@law(
    "pflmf.lemma4", "Lemma 4, (17), and its use after (13) and in step (C)",
    r"\langle\Theta, Y\rangle \le <factor>\tfrac\alpha2\|\Theta\|_F^2 +"
    r" <factor>\tfrac1{2\alpha}\|Y\|_F^2,\quad \alpha > 0",
    over=Arrays({"m": 1, "n": 1}, {"m": 2, "n": 2}, X="mn", Y="mn", log="", by=""),
    wrong={"factor": 0.99}, stronger={"factor": -1},
)  # fmt: skip
def lemma4(X, Y, log, by=0.0, *, factor=1.0):
    """An inner product, and minus it, as the proof uses it, is at most alpha/2 and 1/(2 alpha)
    times the squares (Young).
    """
    alpha = np.exp(np.clip(log, -20, 20))
    # Both terms on the right are of one size where `by` is 0.
    Y = np.exp(np.clip(by, -20, 20)) * alpha * Y
    bound = factor * (alpha / 2 * squares(X) + squares(Y) / (2 * alpha))
    return {
        "as printed": at_most(np.sum(X * Y), bound),
        "as used, -<X, Y>": at_most(-np.sum(X * Y), bound),
    }


@lines("pflmf.lemma4", Region(x=(None, None), y=(None, None), alpha=(Open(0), None)))
def coordinate(x, y, alpha, *, factor=1):
    """Of one coordinate, which Lemma 4 is a sum over."""
    return {"one coordinate": at_most(x * y, factor * (alpha / 2 * x**2 + y**2 / (2 * alpha)))}


@lemma4.also
def _by_coordinates(budget, rng, factor=1.0):
    yield coordinate.measure(factor=factor)


@lemma4.attained("Y = alpha X", "as printed", X="mn", log="")
def _equal(X, log):
    return {"X": X, "Y": X, "log": log}


@lemma4.attained("Y = -alpha X", "as used, -<X, Y>", X="mn", log="")
def _opposite(X, log):
    return {"X": X, "Y": -X, "log": log}


@law(
    "pflmf.lemma5", "Lemma 5, (18)",
    r"\big\|\sum_{i=0}^{K-1}\Theta_i\big\|_F^2 \le <factor>K^<power>"
    r"\sum_{i=0}^{K-1}\|\Theta_i\|_F^2",
    over=Arrays({"K": 1, "m": 2}, {"K": 2, "m": 2}, {"K": 5, "m": 2}, {"K": 200, "m": 1}, X="Km"),
    wrong={"power": 0.99}, stronger={"power": -1, "factor": -1},
)  # fmt: skip
def lemma5(X, *, power=1.0, factor=1.0):
    """The square of a sum of K matrices is at most K times the sum of their squares."""
    return at_most(squares(X.sum(axis=0)), factor * len(X) ** power * squares(X))


@lemma5.attained("all are the same", x="m", others="K")
def _same(x, others):
    return {"X": np.tile(x, (len(others), 1))}


def patterns(n, p, number=None):
    """Return all diagonals of D, (2^n, n), independent or of a number, and their probabilities."""
    D = np.array(list(product((0.0, 1.0), repeat=n)))
    taking = D.sum(axis=1)
    weights = p**taking * (1.0 - p) ** (n - taking) if number is None else taking == number
    return D, weights / weights.sum()


@law(
    "pflmf.lemma6", "Lemma 6", r"\mathbb E_D\|DA\|_F^2 = p^<power>\|A\|_F^2",
    over=Grid(n=lambda budget: range(1, budget(6, 9)), p=CHANCES),
    wrong={"power": 1.1}, stronger={"power": 0}, underived=["A = (I - eta D) A_0, as V_1 is"],
    reads={"an arbitrary matrix": {
        "A independent of D": ["A given", "A given, a fixed number of clients", "A random"],
        "A that depends on D, as V_k does, k > 0": ["A = (I - eta D) A_0, as V_1 is"],
    }},
)  # fmt: skip
def lemma6(rng, n, p, *, power=1.0):
    """Participation with probability p leaves p times a matrix's squared norm on average."""
    D, weights = patterns(n, p)
    rows = rng.random(n) * 10.0 ** rng.uniform(-12, 12, n)  # squares of A's rows
    yield "A given", equal(weights @ D @ rows, p**power * rows.sum()), {"rows": rows.tolist()}
    for number in range(1, n + 1):
        fixed = equal(patterns(n, p, number)[1] @ D @ rows, (number / n) ** power * rows.sum())
        yield "A given, a fixed number of clients", fixed, {"number": number}
    drawn = rng.random((3, n))  # three matrices that are equally probable
    yield "A random", equal(np.mean(drawn @ (weights @ D)), p**power * drawn.sum(axis=1).mean())
    for eta in (0.01, 0.1, 0.5):
        moved = (1.0 - eta * D) ** 2 * (rows := rng.random(n) + 0.5)
        found = equal(weights @ (D * moved).sum(axis=1), p * weights @ moved.sum(axis=1))
        yield "A = (I - eta D) A_0, as V_1 is", found, {"eta": eta, "A_0": rows.tolist()}


@law(
    "pflmf.participation", "Appendix A.1",
    r"[D_t]_{ii}\sim\mathrm{Bernoulli}(p):\quad\mathbb E_{S_t}[D_t]=p^<power>I",
    over=Grid(
        n=lambda budget: range(1, budget(6, 9)), p=(Fraction(1, 50), Fraction(3, 10), Fraction(1))
    ),
    wrong={"power": 2}, stronger={"power": 0},
)  # fmt: skip
def participation(n, p, *, power=1):
    """The mean of the participation matrix is p times the identity."""
    rows = list(product((0, 1), repeat=n))
    mean = [sum(p ** sum(D) * (1 - p) ** (n - sum(D)) * D[i] for D in rows) for i in range(n)]
    yield from (("independent", equal(each, _power(p, power))) for each in mean)
    for number in range(1, n + 1):
        taking = [D for D in rows if sum(D) == number]
        first = Fraction(sum(D[0] for D in taking), len(taking))
        of_a_number = equal(first, _power(Fraction(number, n), power))
        yield "a fixed number", of_a_number, {"number": number}


def _power(p, power):
    """Return a fraction's power: rounded to one where it is none."""
    return p**power if power == int(power) else Fraction(float(p) ** float(power))


@law(
    "pflmf.lemma7", "Lemma 7", r"\mathbb E\|D\|_2 = 1 - (1-p)^n \le 1",
    over=Grid(n=lambda budget: [*range(1, budget(9, 13)), 1000, 10**9], p=CHANCES),
    wrong={"offset": 1}, stronger={"offset": 0},
)  # fmt: skip
def lemma7(n, p, *, offset=0):
    """The participation matrix has spectral norm one unless nobody takes part."""
    with np.errstate(divide="ignore"):
        stated = -np.expm1((n + offset) * np.log1p(-p))
    yield "at most 1", at_most(stated, 1.0)
    if n < 1000:
        D, weights = patterns(n, p)
        norms = np.array([norm(np.diag(each), 2) for each in D])
        yield "E|D|", equal(weights @ norms, stated)
        yield "E|D|^2, which (11) uses", equal(weights @ norms**2, stated)
