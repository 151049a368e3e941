"""Lemmas 3 to 7: norms, and the participation matrix."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from linrep.claims import Cases, Fact, Identity, Readings, Together, search_instances, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.pflmf import _exact
from linrep.theory import pflmf as theory

_ROUNDING = 1e-12
_CHANCES = (1e-8, 1e-4, 0.02, 0.3, 0.5, 0.9, 1.0 - 1e-6, 1.0)


class Factors(NamedTuple):
    """Two matrices that fit."""

    A: Array
    B: Array


class Young(NamedTuple):
    """What Young's inequality is of."""

    alpha: float
    X: Array
    Y: Array


def _matrices(rng):
    """Return matrices A, B that fit: full, of rank one, badly scaled, or with a zero one."""
    shape = rng.integers(1, 7, 3)
    A, B = rng.standard_normal(shape[:2]), rng.standard_normal(shape[1:])
    kind = rng.integers(4)
    if kind == 1:
        A = np.outer(A[:, 0], A[0])
    elif kind == 2:
        A = A * 10.0 ** rng.uniform(-8, 8, A.shape)
    elif kind == 3 and rng.random() < 0.1:
        B = 0.0 * B
    return A, B


def _at_most(pairs, name) -> Cases:
    """Return left <= right to twelve digits for pairs (left, right)."""
    cases = [(left, right * (1.0 + _ROUNDING), {"rounding": _ROUNDING}) for left, right in pairs]
    return Cases(cases, name=name, strength=PROVED)


def _equal(pairs, name) -> Identity:
    """Return left = right to twelve digits for pairs (left, right)."""
    return Identity(
        [(relative(a, b), {"left": a, "right": b}) for a, b in pairs],
        _ROUNDING,
        name=name,
        strength=PROVED,
    )


@statement(
    "pflmf.lemma3",
    place="Lemma 3",
    latex=r"\|AB\|_F \le \|A\|_2 \|B\|_F",
    plain="The norm of a product is at most one factor's spectral norm times the other's "
    "Frobenius norm.",
    negative_control={"factor": 0.99},
    stronger={"factor": 0},
)
def lemma3(budget, rng, *, factor=1.0):
    """Search matrices of all shapes, and check where equality holds."""

    def read(reader, shape):
        first = reader.numbers(shape["d1"], shape["d2"])
        return Factors(first, reader.numbers(shape["d2"], shape["d3"]))

    def sides(at):
        return float(np.linalg.norm(at.A @ at.B)), factor * theory.lemma3(at.A, at.B)

    drawn = [_matrices(rng) for _ in range(budget(500, 20_000))]
    aligned = []
    for _ in range(budget(50, 1000)):
        A, B = _matrices(rng)
        B = np.outer(np.linalg.svd(A)[2][0], rng.standard_normal(B.shape[1]))
        aligned.append((float(np.linalg.norm(A @ B)), factor * theory.lemma3(A, B)))
    yield _at_most(
        ((float(np.linalg.norm(A @ B)), factor * theory.lemma3(A, B)) for A, B in drawn),
        "random matrices",
    )
    yield search_instances(
        sides,
        ({"d1": 1, "d2": 1, "d3": 1}, {"d1": 2, "d2": 2, "d3": 1}, {"d1": 2, "d2": 3, "d3": 2}),
        read,
        budget,
        rng,
        name="search",
        guard=_ROUNDING,
        strength=PROVED,
    )
    yield _equal(aligned, "equality: B's columns are A's first right singular vector")


@statement(
    "pflmf.lemma4",
    place="Lemma 4, (17), and its use after (13) and in step (C)",
    latex=r"\langle\Theta, Y\rangle \le \tfrac\alpha2\|\Theta\|_F^2 + \tfrac1{2\alpha}\|Y\|_F^2,"
    r"\quad \alpha > 0",
    plain="An inner product, and minus it, as the proof uses it, is at most alpha/2 and 1/(2 "
    "alpha) times the squares (Young).",
    negative_control={"factor": 0.99},
    stronger={"factor": 0},
)
def lemma4(budget, rng, *, factor=1.0):
    """Search with both signs of the inner product, and check where equality holds."""

    def with_sign(sign):
        def sides(at):
            return sign * float(at.X @ at.Y), factor * theory.lemma4(at.X, at.Y, at.alpha)

        return sides

    def read(reader, shape):
        alpha = float(np.exp(np.clip(reader.number(), -20.0, 20.0)))
        return Young(alpha, reader.numbers(shape["size"]), reader.numbers(shape["size"]))

    for sign, name in ((1.0, "as printed"), (-1.0, "as used, -<X, Y>")):
        pairs, equal = [], []
        for _ in range(budget(300, 10_000)):
            X, Y = rng.standard_normal((2, *rng.integers(1, 6, 2)))
            alpha = 10.0 ** rng.uniform(-8, 8)
            # Of random sizes, and of those at which both terms on the right are equal.
            Y = Y * (10.0 ** rng.uniform(-4, 4) if rng.random() < 0.5 else alpha)
            pairs.append((sign * float(np.sum(X * Y)), factor * theory.lemma4(X, Y, alpha)))
            equal.append(
                (float(alpha * np.sum(X**2)), factor * theory.lemma4(X, sign * alpha * X, alpha))
            )
        yield _at_most(pairs, f"random matrices, {name}")
        yield search_instances(
            with_sign(sign),
            ({"size": 1}, {"size": 4}),
            read,
            budget,
            rng,
            name=f"search, {name}",
            guard=_ROUNDING,
            strength=PROVED,
        )
        yield _equal(equal, f"equality where Y = {'-' if sign < 0 else ''}alpha X, {name}")


@statement(
    "pflmf.lemma5",
    place="Lemma 5, (18)",
    latex=r"\big\|\sum_{i=0}^{K-1}\Theta_i\big\|_F^2 \le K\sum_{i=0}^{K-1}\|\Theta_i\|_F^2",
    plain="The square of a sum of K matrices is at most K times the sum of their squares.",
    negative_control={"power": 0.99},
    stronger={"power": 0, "factor": 0},
)
def lemma5(budget, rng, *, power=1.0, factor=1.0):
    """Search, and check where equality holds; the power is that of K, which `factor` multiplies."""

    def both(X):
        scale = factor * float(len(X)) ** (power - 1.0)
        return float(np.sum(np.sum(X, axis=0) ** 2)), scale * theory.lemma5(X)

    def read(reader, shape):
        return reader.numbers(shape["K"], 2)

    counts = (1, 2, 3, 10, 200)
    drawn, equal = [], []
    for _ in range(budget(100, 3000)):
        for K in counts:
            shape = rng.integers(1, 4, 2)
            common = rng.standard_normal(shape) * 10.0 ** rng.uniform(-5, 5)
            drawn.append(
                both(common + 10.0 ** rng.uniform(-6, 2) * rng.standard_normal((K, *shape)))
            )
            equal.append(both(np.broadcast_to(common, (K, *shape))))
    yield _at_most(drawn, "random matrices, from nearly equal to unrelated")
    yield search_instances(
        both,
        ({"K": 1}, {"K": 2}, {"K": 5}),
        read,
        budget,
        rng,
        name="search",
        guard=_ROUNDING,
        strength=PROVED,
    )
    yield _equal(equal, "equality where all are the same")


def _patterns(n):
    """Return all patterns of participation, shape (2^n, n)."""
    return np.array(list(product([0.0, 1.0], repeat=n)))


def _weights(patterns, p):
    """Return the probabilities of patterns under independent participation."""
    taking = patterns.sum(axis=1)
    return p**taking * (1.0 - p) ** (patterns.shape[1] - taking)


def _masked(patterns, squares):
    """Return ||DA||_F^2 of every pattern, `squares` being those of A's rows, (n,) or (2^n, n)."""
    return np.sum(patterns * squares, axis=1)


def _fixed_matrices(budget, rng, power):
    """Yield deviations for a given A, with independent entries of D, and with a fixed number."""
    for n in range(1, budget(7, 11)):
        patterns = _patterns(n)
        A = rng.standard_normal((n, int(rng.integers(1, 4)))) * 10.0 ** rng.uniform(-6, 6, (n, 1))
        squares = np.sum(A**2, axis=1)
        for p in _CHANCES:
            found = float(_weights(patterns, p) @ _masked(patterns, squares))
            stated = p ** (power - 1.0) * theory.lemma6(A, p)
            yield relative(found, stated), {"n": n, "p": p, "found": found, "stated": stated}
        for number in range(1, n + 1):
            p, chosen = number / n, (patterns.sum(axis=1) == number).astype(float)
            found = float(chosen / chosen.sum() @ _masked(patterns, squares))
            stated = p ** (power - 1.0) * theory.lemma6(A, p)
            yield relative(found, stated), {"n": n, "number": number, "found": found}


def _independent(budget, rng):
    """Yield deviations for a random A that is drawn without regard to D, E||A||^2 on the right."""
    for n in range(1, budget(5, 8)):
        patterns = _patterns(n)
        values = rng.random((3, n))  # squared rows of three matrices that are equally probable
        for p in _CHANCES:
            weights = _weights(patterns, p)
            found = np.mean([weights @ _masked(patterns, squares) for squares in values])
            yield relative(found, p * values.sum(axis=1).mean()), {"n": n, "p": p}


def _dependent(budget, rng):
    """Yield deviations for A = (I - eta D) A_0, which a gradient of |v|^2/2 is after a step."""
    for n in range(1, budget(5, 8)):
        patterns, squares = _patterns(n), rng.random(n) + 0.5
        for p in _CHANCES:
            for eta in (0.01, 0.1, 0.5):
                weights = _weights(patterns, p)
                moved = (1.0 - eta * patterns) ** 2 * squares
                found = float(weights @ _masked(patterns, moved))
                stated = float(p * (weights @ moved.sum(axis=1)))
                case = {"n": n, "p": p, "eta": eta, "E|DA|^2": found, "p E|A|^2": stated}
                yield relative(found, stated), case


@statement(
    "pflmf.lemma6",
    place="Lemma 6",
    latex=r"\mathbb E_D\|DA\|_F^2 = p\|A\|_F^2",
    plain="Participation with probability p leaves p times a matrix's squared norm on average.",
    negative_control={"power": 1.1},
    stronger={"power": 0},
)
def lemma6(budget, rng, *, power=1.0):
    """Enumerate patterns, for matrices that know nothing of D and for one that does."""
    fixed, drawn = (
        Identity(found, _ROUNDING, name=name, strength=PROVED)
        for found, name in (
            (_fixed_matrices(budget, rng, power), "A given"),
            (_independent(budget, rng), "A random, independent of D"),
        )
    )
    used = Identity(
        _dependent(budget, rng), _ROUNDING, name="A that depends on D, as V_k does, k > 0"
    )
    yield Readings(
        [Together([fixed, drawn], name="A independent of D"), used], phrase="an arbitrary matrix"
    )


@statement(
    "pflmf.participation",
    place="Appendix A.1",
    latex=r"[D_t]_{ii}\sim\mathrm{Bernoulli}(p):\quad\mathbb E_{S_t}[D_t]=pI",
    plain="The mean of the participation matrix is p times the identity.",
    negative_control={"power": 2},
    stronger={"power": 0},
)
def participation(budget, rng, *, power=1):
    """Enumerate patterns in rational numbers, of independent clients and of a fixed number."""
    apart: dict[str, list] = {"independent": [], "a fixed number": []}
    for n in range(1, budget(6, 9)):
        rows = list(product((0, 1), repeat=n))
        for p in (Fraction(1, 50), Fraction(3, 10), Fraction(1)):
            weights = [p ** sum(row) * (1 - p) ** (n - sum(row)) for row in rows]
            for i in range(n):
                mean = sum((w * row[i] for w, row in zip(weights, rows, strict=True)), Fraction(0))
                apart["independent"].append(
                    (abs(mean - _exact.power(p, power)), Fraction(0), {"n": n, "p": str(p)})
                )
        for number in range(1, n + 1):
            chosen, p = [row for row in rows if sum(row) == number], Fraction(number, n)
            mean = Fraction(sum(row[0] for row in chosen), len(chosen))
            case = (abs(mean - _exact.power(p, power)), Fraction(0), {"n": n, "number": number})
            apart["a fixed number"].append(case)
    for name, cases in apart.items():
        yield Cases(cases, name=name, quantity="distance from p", strength=PROVED)


@statement(
    "pflmf.lemma7",
    place="Lemma 7",
    latex=r"\mathbb E\|D\|_2 = 1 - (1-p)^n \le 1",
    plain="The participation matrix has spectral norm one unless nobody takes part.",
    negative_control={"offset": 1},
    stronger={"offset": 0},
)
def lemma7(budget, rng, *, offset=0):
    """Enumerate patterns for the norm and its square; `offset` is added to the exponent n."""
    first, second, excess = [], [], []
    for n in range(1, budget(9, 13)):
        patterns = _patterns(n)
        norms = np.array([np.linalg.norm(np.diag(row), 2) for row in patterns])
        for p in _CHANCES:
            weights, stated = _weights(patterns, p), float(theory.lemma7(n + offset, p))
            # The terms of the sum are positive: no cancellation where p is small.
            case = {"n": n, "p": p, "stated": stated}
            first.append((relative(weights @ norms, stated), case))
            second.append((relative(weights @ norms**2, stated), case))
            excess.append(stated / p)
    largest = [
        (float(theory.lemma7(n, p)), 1.0, {"n": n, "p": p})
        for n in (1, 10, 1000, 10**9)
        for p in _CHANCES
    ]
    yield Identity(first, _ROUNDING, name="E|D|", strength=PROVED)
    yield Identity(second, _ROUNDING, name="E|D|^2, which (11) uses", strength=PROVED)
    yield Cases(largest, name="at most 1", strength=PROVED)
    for name, extreme in (("least", min), ("largest", max)):
        yield Fact(f"{name} E|D|^2/p, by which (11) counts noise too often", extreme(excess))
