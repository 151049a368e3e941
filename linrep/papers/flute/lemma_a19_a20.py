"""Lemmas A.19 and A.20: what the proofs take from matrix analysis."""

import numpy as np
from scipy.stats import norm

from linrep.claims import Cases, Frequency, statement
from linrep.claims.laws import Arrays, at_most, law


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
    trials = budget(1000, 4000, 40000)
    for N, n in ((40, 5), (100, 20), (30, 30), (40, 1), (1, 1)):
        values = np.linalg.svd(rng.standard_normal((trials, N, n)), compute_uv=False)
        for width in (2.5, 2.0, 1.5, 1.0):
            outside = values[:, 0] > np.sqrt(N) + edge * np.sqrt(n) + width
            outside |= values[:, -1] < np.sqrt(N) - edge * np.sqrt(n) - width
            allowed = min(1.0, constant * np.exp(-rate * width**2))
            where = {"N": N, "n": n, "epsilon": width}
            name = f"{N} x {n}, epsilon = {width:g}"
            yield Frequency(int(outside.sum()), trials, allowed, name=name, setting=where)
    far = [
        (
            float(np.log(2.0) + norm.logsf(1.0 + edge + width)),
            float(np.log(constant) - rate * width**2),
            {"N": 1, "n": 1, "epsilon": width},
        )
        for width in (10.0, 100.0, 1000.0)
    ]
    yield Cases(far, name="1 x 1, far out", quantity="log of the probability")


@law(
    "flute.lemmaA20", "Lemma A.20",
    r"\lambda_{i+d-k}(A) \le \mu_i \le \lambda_i(A), \quad i \in [k]",
    over=Arrays(
        *({"d": d, "k": k} for d, k in ((2, 1), (3, 1), (3, 2), (4, 2), (6, 5), (7, 3))),
        A="dd", part="k",
    ),
    wrong={"shift": 1},
)  # fmt: skip
def lemmaA20(A, part, *, shift=0):
    """Eigenvalues of a principal submatrix interlace those of the matrix."""
    # The indices of mu go to k, where d is printed; of `part` the size alone matters.
    (d, _), k = A.shape, len(part)
    if k >= d:
        return None
    A = np.triu(A) + np.triu(A, 1).T
    outer, inner = (np.linalg.eigvalsh(each)[::-1] for each in (A, A[:k, :k]))
    pairs = [(outer[i + d - k - shift], inner[i]) for i in range(k)]
    pairs += [(inner[i], outer[i]) for i in range(k)]
    left, right = max(pairs, key=lambda pair: pair[0] - pair[1])
    # Compared from below all eigenvalues, so that zeros have a scale.
    size = 2.0 * np.abs(outer).max()
    return at_most(float(left + size), float(right + size))
