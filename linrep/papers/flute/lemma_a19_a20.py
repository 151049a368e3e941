"""Lemmas A.19 and A.20: what the proofs take from matrix analysis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from linrep.claims import Cases, Fact, Frequency, search_instances, statement
from linrep.claims.evidence import PROVED


@statement(
    "flute.lemmaA19",
    place="Lemma A.19",
    latex=r"\Pr\big[\sqrt N - \sqrt n - \epsilon \le \sigma_{\min}(A) \le \sigma_{\max}(A)"
    r" \le \sqrt N + \sqrt n + \epsilon\big] \ge 1 - 2e^{-\epsilon^2/2}",
    plain="Singular values of a normal matrix are within epsilon of sqrt(N) -+ sqrt(n).",
    negative_control={"edge": 0.5},
    stronger={"edge": -1, "constant": -1, "rate": 1},
)
def lemmaA19(budget, rng, *, edge=1.0, constant=2.0, rate=0.5):
    """Count draws outside the bounds, for narrow, wide-spread and square shapes."""
    shapes = ((40, 5), (100, 20), (30, 30), (40, 1), (1, 1))
    widths = (2.5, 2.0, 1.5, 1.0)
    trials = budget(1000, 4000, 40000)
    shares = []
    for N, n in shapes:
        values = np.linalg.svd(rng.standard_normal((trials, N, n)), compute_uv=False)
        for width in widths:
            outside = values[:, 0] > np.sqrt(N) + edge * np.sqrt(n) + width
            outside |= values[:, -1] < np.sqrt(N) - edge * np.sqrt(n) - width
            allowed = min(1.0, constant * np.exp(-rate * width**2))
            yield Frequency(
                int(outside.sum()),
                trials,
                allowed,
                name=f"{N} x {n}, epsilon = {width:g}",
                setting={"N": N, "n": n, "epsilon": width},
            )
            shares.append(outside.mean() / allowed)
    far = [
        (
            float(np.log(2.0) + norm.logsf(1.0 + edge + width)),
            float(np.log(constant) - rate * width**2),
            {"N": 1, "n": 1, "epsilon": width},
        )
        for width in (10.0, 100.0, 1000.0)
    ]
    yield Cases(far, name="1 x 1, far out", quantity="log of the probability")
    yield Fact("largest share of the allowed probability that is used", max(shares))


class _Matrix(NamedTuple):
    """A symmetric matrix, and the size of its principal submatrix."""

    A: Any
    k: int

    @classmethod
    def read(cls, reader, shape):
        """Return one by its upper triangle."""
        d = shape["d"]
        A = np.zeros((d, d))
        A[np.triu_indices(d)] = reader.numbers(d * (d + 1) // 2)
        return cls(A + np.triu(A, 1).T, shape["k"])


@statement(
    "flute.lemmaA20",
    place="Lemma A.20",
    latex=r"\lambda_{i+d-k}(A) \le \mu_i \le \lambda_i(A), \quad i \in [k]",
    plain="Eigenvalues of a principal submatrix interlace those of the matrix.",
    negative_control={"shift": 1},
)
def lemmaA20(budget, rng, *, shift=0):
    """Search over symmetric matrices for eigenvalues outside their bounds.

    The indices of mu go to k, where d is printed.
    """

    def sides(matrix):
        A, k = matrix
        d = len(A)
        outer = np.linalg.eigvalsh(A)[::-1]
        inner = np.linalg.eigvalsh(A[:k, :k])[::-1]
        pairs = [(outer[i + d - k - shift], inner[i]) for i in range(k)]
        pairs += [(inner[i], outer[i]) for i in range(k)]
        left, right = max(pairs, key=lambda pair: pair[0] - pair[1])
        # Compared from below all eigenvalues, so that zeros have a scale.
        size = 2.0 * np.abs(outer).max()
        return float(left + size), float(right + size)

    yield search_instances(
        sides,
        [{"d": d, "k": k} for d, k in ((2, 1), (3, 1), (3, 2), (4, 2), (6, 5), (7, 3))],
        _Matrix.read,
        budget,
        rng,
        strength=PROVED,
    )
