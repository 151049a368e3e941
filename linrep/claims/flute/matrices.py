"""What the proofs take from matrix analysis: (28), (37), Lemmas A.19 and A.20."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Fact, Frequency, search, statement
from linrep.theory.flute import Spectrum, sizes
from linrep.theory.flute_lift import product_error

# (28), (29)


def _grid(top):
    """Return exact numbers from 1e-12 to a top, dense at both ends."""
    small = [top * Fraction(1, 10**power) for power in range(1, 13)]
    return [*small, *(top * Fraction(part, 60) for part in range(1, 61))]


def _links(top, divisor):
    """Yield each link of (28) and (29), as (left, right, instance) over x up to a top."""
    half, three = Fraction(1, 2), Fraction(3, 2)
    first, second, ends, text, widest = [], [], [], [], []
    for x in _grid(top):
        where = {"x": str(x)}
        ratio = (three - x / 8) / (three + x / 8)
        linear, square = 1 - x / Fraction(divisor), (1 - x / 16) ** 2
        first.append((ratio, linear, where))
        second.append((linear, square, where))
        ends.append((ratio, square, where))
        text.append((linear, 1 - x / 16, where))
        for part in range(-10, 11):
            a = half * Fraction(part, 10)
            widest.append(((1 - x / 8 + a) / (1 + x / 8 + a), ratio, where | {"a": str(a)}))
    yield f"(3/2 - x/8)/(3/2 + x/8) <= 1 - x/{divisor}", first
    yield f"1 - x/{divisor} <= (1 - x/16)^2", second
    yield "(3/2 - x/8)/(3/2 + x/8) <= (1 - x/16)^2", ends
    yield f"1 - x/{divisor} <= 1 - x/16, the text's reason", text
    yield "largest at 1/2 of all brackets within 1/2", widest


@statement(
    "flute.eq28",
    place="Lemma A.10, (28)-(29)",
    kind="deterministic inequality",
    latex=r"x = \eta\Delta:\quad \frac{3/2 - x/8}{3/2 + x/8} \le 1 - \frac x6"
    r" \le \Big(1 - \frac x{16}\Big)^2",
    plain="Two links from the ratio of the one-step bounds to the square of the rate",
    negative_control={"divisor": 5},
)
def eq28(budget, rng, *, divisor=6):
    """Compare both sides of every link in exact fractions, for x up to 1/36 and up to 1."""
    for top in (Fraction(1, 36), Fraction(1)):
        for name, cases in _links(top, divisor):
            yield Cases(cases, name=f"{name}, x up to {top}")


eq28.corrected(
    "flute.eq28.corrected",
    latex=r"0 < x \le 1:\quad \frac{3/2 - x/8}{3/2 + x/8} \le 1 - \frac x7"
    r" \le \Big(1 - \frac x{16}\Big)^2",
    plain="The same two links with 7 in place of 6",
    constants={"divisor": 7},
    negative_control={"divisor": 9},
)


# (37)


def _theta(shape, x):
    """Return a lifted iterate with sigma_1 at most sqrt(2 lambda*_1), and the spectrum.

    The first entry sets how much of that bound is used.
    """
    size, k = shape["size"], shape["k"]
    values, entries = np.abs(x[1 : 1 + size]), x[1 + size :]
    spectrum = Spectrum(values, n=size, d=size, k=k)
    Theta = entries.reshape(2 * size, k)
    largest = np.linalg.norm(Theta, 2)
    if spectrum.first <= 0.0 or largest == 0.0:
        return None
    allowed = np.sqrt(2.0 * spectrum.first) * min(1.0, abs(x[0]))
    return Theta * (allowed / largest), spectrum


def _both_sides(instance, factor):
    Theta, spectrum = instance
    k = spectrum.k
    D = Theta[:k] @ Theta[:k].T - np.diag(spectrum.eigenvalues[:k])
    bound = np.sqrt(k) * np.linalg.norm(D, 2)
    bound += factor * np.sqrt(k * spectrum.first) * sizes(Theta).rest
    return float(product_error(Theta, spectrum)), float(bound)


@statement(
    "flute.eq37",
    place="Proposition A.12, (37)",
    kind="deterministic inequality",
    latex=r"\sigma_1(\Theta) \le \sqrt{2\lambda^*_1}:\quad \|\Theta\Theta^\top -"
    r" \mathrm{diag}(\tilde\Lambda_k, 0)\|_F \le \sqrt k\,\|D\| + 2\sqrt{k\lambda^*_1}\,"
    r"\|\Theta_{\mathrm{res}}\|",
    plain="The error of Theta is bounded by those of its leading block and of the rest",
    negative_control={"factor": 1.7},
)
def eq37(budget, rng, *, factor=2.0):
    """Search over all Theta so small, and try those whose rest is as large as the leading rows."""

    def sides(shape, x):
        instance = _theta(shape, x)
        return None if instance is None else _both_sides(instance, factor)

    yield search(
        sides,
        [{"size": size, "k": k} for size, k in ((1, 1), (2, 1), (3, 2), (4, 3))],
        lambda shape: 1 + shape["size"] * (1 + 2 * shape["k"]),
        budget,
        rng,
        name="search",
    )
    even, needed = [], []
    for k in (1, 2, 4):
        for share in (1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0):
            spectrum = Spectrum(np.ones(k), n=2 * k, d=2 * k, k=k)
            # D = 0, all singular values equal: the cross blocks and that of the rest are left.
            Theta = np.zeros((4 * k, k))
            Theta[:k] = np.sqrt(spectrum.first) * np.eye(k)
            Theta[k : 2 * k] = share * Theta[:k]
            left, right = _both_sides((Theta, spectrum), factor)
            even.append((left * (1.0 - 1e-12), right, {"k": k, "rest over leading rows": share}))
            needed.append(factor * left / right)
    yield Cases(even, name="D = 0 and rows of one length")
    yield Fact("largest factor needed in place of 2 at D = 0", max(needed))


# Lemmas A.19 and A.20


@statement(
    "flute.lemmaA19",
    place="Lemma A.19",
    kind="probability bound",
    latex=r"\Pr\big[\sqrt N - \sqrt n - \epsilon \le \sigma_{\min}(A) \le \sigma_{\max}(A)"
    r" \le \sqrt N + \sqrt n + \epsilon\big] \ge 1 - 2e^{-\epsilon^2/2}",
    plain="Singular values of a normal matrix are within epsilon of sqrt(N) -+ sqrt(n)",
    negative_control={"edge": 0.5},
)
def lemmaA19(budget, rng, *, edge=1.0):
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
            allowed = min(1.0, 2.0 * np.exp(-0.5 * width**2))
            yield Frequency(
                int(outside.sum()), trials, allowed, name=f"{N} x {n}, epsilon = {width:g}",
                setting={"N": N, "n": n, "epsilon": width},
            )  # fmt: skip
            shares.append(outside.mean() / allowed)
    yield Fact("largest share of the allowed probability that is used", max(shares))


@statement(
    "flute.lemmaA20",
    place="Lemma A.20",
    kind="deterministic inequality",
    latex=r"\lambda_{i+d-k}(A) \le \mu_i \le \lambda_i(A), \quad i \in [k]",
    plain="Eigenvalues of a principal submatrix interlace those of the matrix",
    negative_control={"shift": 1},
)
def lemmaA20(budget, rng, *, shift=0):
    """Search over symmetric matrices for eigenvalues outside their bounds.

    The indices of mu go to k, where d is printed.
    """

    def sides(shape, x):
        d, k = shape["d"], shape["k"]
        A = np.zeros((d, d))
        A[np.triu_indices(d)] = x
        A += np.triu(A, 1).T
        outer = np.linalg.eigvalsh(A)[::-1]
        inner = np.linalg.eigvalsh(A[:k, :k])[::-1]
        pairs = [(outer[i + d - k - shift], inner[i]) for i in range(k)]
        pairs += [(inner[i], outer[i]) for i in range(k)]
        left, right = max(pairs, key=lambda pair: pair[0] - pair[1])
        # Compared from below all eigenvalues, so that zeros have a scale.
        size = 2.0 * np.abs(outer).max()
        return float(left + size), float(right + size)

    yield search(
        sides,
        [{"d": d, "k": k} for d, k in ((2, 1), (3, 1), (3, 2), (4, 2), (6, 5), (7, 3))],
        lambda shape: shape["d"] * (shape["d"] + 1) // 2,
        budget,
        rng,
    )
