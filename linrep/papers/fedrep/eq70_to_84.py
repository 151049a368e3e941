"""(70) to (84), in the proof of Lemma 6: how much the QR factorization stretches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd

from linrep.claims import Cases, Constant, Fact, Frequency, Identity, everywhere, statement
from linrep.claims.deviations import relative
from linrep.claims.tables import cells
from linrep.papers.fedrep._batches import gaussian_step, sampled_step, sphere_heads, tilt
from linrep.papers.fedrep._common import DESIGNS, GAUSSIAN_ASSUMPTIONS, derived, instance
from linrep.theory import fedrep as theory
from linrep.theory import fedrep_lemmas as lemmas

#: Share of runs that may break a statement whose own probability is too small to be tested.
_ALLOWED = 0.05


def _needed(triangle, step_size, sigma_max):
    """Return the delta at which (84) is an equality, 0 where R^-1 has norm at most 1."""
    loss = 1.0 - np.linalg.eigvalsh(triangle)[0]
    ratio = loss / (4.0 * step_size * sigma_max**2)  # delta / (1 - delta)^2
    if ratio <= 0.0:
        return 0.0
    # The root below 1 of ratio (1 - delta)^2 = delta.
    return float(2.0 * ratio / (2.0 * ratio + 1.0 + np.sqrt(4.0 * ratio + 1.0)))


def _first_term(step):
    """Return the first term of (72), over 2 eta."""
    inner = step.error[: step.heads.shape[1]]
    return float(np.linalg.eigvalsh(0.5 * (inner + inner.T))[-1])


_GRID = ["m", "d", "k", "distance"]


def _steps(budget, rng, split, runs, size_power):
    """Yield Gaussian steps at fixed m along rn: the setting, a step, and delta'_k at c = 1."""
    for m, d, k, far in [(16, 10, 2, 0.5), (8, 4, 1, 0.9), (20, 10, 4, 0.9)][: budget(2, 3)]:
        for setting in cells({"m": m, "d": d, "k": k, "distance": far}, rn=[100, 550, 3000]):
            rn = setting["rn"]
            prime = k * np.sqrt(d) / (rn * m) ** size_power
            for _ in range(runs):
                W, (C, Phi) = sphere_heads(rn, k, rng), tilt(k, far)
                yield setting, gaussian_step(W, C, Phi, m, d, rng, split=split), prime


def _no_stretch(budget, rng):
    """Compare, on batches drawn in full, R'R with I plus a square if the batch is the heads'."""
    formula, norms = [], []
    for _ in range(budget(60, 300, 2000)):
        k, m, rn = int(rng.integers(1, 5)), int(rng.integers(1, 30)), int(rng.integers(4, 40))
        d = int(rng.integers(2 * k, 20))
        design = DESIGNS[int(rng.integers(len(DESIGNS)))]
        eta, far = float(rng.uniform(0.0, 2.0)), float(rng.uniform(0.0, 1.0))
        truth, B = instance(rn, d, k, rng, distance=far, design=design)
        step = sampled_step(truth, B, m, rng, split=False)
        where = {"rn": rn, "m": m, "d": d, "k": k, "design": design, "eta": eta}
        found = step.triangle(eta)
        expected = np.eye(k) + eta**2 * step.gradient.T @ step.gradient
        scale = np.linalg.norm(expected, 2) + eta * np.mean(np.sum(step.heads**2, axis=1))
        formula.append((float(np.linalg.norm(found - expected, 2)) / scale, where))
        norms.append((1.0 - np.linalg.eigvalsh(found)[0] - 1e-10 * scale, 0.0, where))
    yield Identity(formula, 1e-9, name="one batch: R'R = I + a square")
    yield Cases(
        norms,
        name="one batch: norm of R^-1 at most 1, hence (84)",
        quantity="1 less the least eigenvalue of R'R and rounding",
    )


@statement(
    "fedrep.eq84",
    place="(70)-(84), in the proof of Lemma 6",
    latex=r"\|R^{-1}\|_2 \le \Big(1 - 4\eta\frac{\bar\delta}{(1-\bar\delta)^2}\sigma_{\max}^2"
    r"\Big)^{-1/2}, \qquad \max_{\|x\|=1}\frac{2\eta}{rn}x^\top W^\top\Big(\frac1m A^*A(Q) - Q"
    r"\Big)Bx \le 2\eta\delta_k'",
    plain="Orthonormalizing increases the distance only by a factor near 1, since the gradient "
    "has a small component in span(B).",
    hypotheses=GAUSSIAN_ASSUMPTIONS,
    stronger={"size_power": 1},
    negative_control={"size_power": 1.0},
)
def eq84(budget, rng, *, size_power=0.5):
    """Follow the constants that (73) and (84) need on separate batches, along rn at fixed m.

    On one batch B'S' = 0, so that R'R is I plus a square, and the first term of (72) has the mean
    -2 eta tr(Phi S Phi')/(m - k - 1) for Gaussian x: it is compared with (73) at c = 1.
    """
    rows: dict[str, list] = {"(73)": [], "(84)": []}
    runs = budget(250, 6000, 20_000)
    for setting, step, prime in _steps(budget, rng, True, runs, size_power):
        # A first term below 0 needs no constant, but a logarithm needs a positive one.
        first = max(_first_term(step) / prime, 1e-6)
        both = float(lemmas.delta(setting["k"], setting["rn"], setting["m"])) + prime
        eta = float(theory.step_size_limit(step.sigma_max))
        inverse = max(_needed(step.triangle(eta), eta, step.sigma_max) / both, 1e-6)
        rows["(73)"].append(setting | {"constant": first})
        rows["(84)"].append(setting | {"constant": inverse})
    yield from _no_stretch(budget, rng)
    for name, entries in rows.items():
        yield Constant(
            pd.DataFrame(entries),
            ["rn"],
            by=_GRID,
            quantile=0.95,  # many draws need no constant
            name=f"two batches: {name}",
            label="c needed",
        )
    terms, norms = [], []
    for _, step, prime in _steps(budget, rng, False, budget(100, 300, 1000), size_power):
        terms.append(_first_term(step) / prime)
        norms.append(np.linalg.norm(step.error, 2) / prime)
    above = sum(term > 1.0 for term in terms)
    yield Frequency(above, len(terms), _ALLOWED, name="one batch: (73) at c = 1")
    yield Fact("largest (first term)/(2 eta delta'_k) on one batch, c = 1", max(terms))
    yield Fact("largest (norm in (73))/(2 eta delta'_k) on one batch, c = 1", max(norms))


@statement(
    "fedrep.eq84.eq73",
    place="(73), in the proof of Lemma 6",
    latex=r"\frac{2\eta}{rn}\Big\|W^\top\Big(\frac1m A^*A(Q) - Q\Big)\Big\|_2\|\hat B\|_2"
    r"\le 2\eta\delta_k'",
    plain="The norm by which (73) bounds the first term of (72) is small, although heads and "
    "gradient use the same batch.",
    hypotheses=GAUSSIAN_ASSUMPTIONS,
    negative_control={"size_power": 1.0},
)
def eq73(budget, rng, *, batches="same", size_power=0.5):
    """Follow the constant that the norm needs, along rn at fixed m, for Gaussian x.

    On one batch the norm's mean does not go to zero with rn. (72)'s first term has a mean below
    zero there, so that (84) is true none the less.
    """
    runs = budget(1000, 3000, 10_000)
    rows = [
        setting | {"constant": np.linalg.norm(step.error, 2) / prime}
        for setting, step, prime in _steps(budget, rng, batches == "split", runs, size_power)
    ]
    yield Constant(pd.DataFrame(rows), ["rn"], by=_GRID, label="c needed")


eq73.corrected(
    "fedrep.eq84.eq73.corrected",
    latex=r"\frac{2\eta}{rn}\Big\|W^\top\Big(\frac1m A^*A(Q) - Q\Big)\Big\|_2\|\hat B\|_2"
    r"\le 2\eta\delta_k' \quad \text{for } A \text{ independent of } W,\ m \ge 2k + 4",
    plain="The norm by which (73) bounds the first term of (72) is small if the gradient uses a "
    "second batch, independent of the heads.",
    constants={"batches": "split"},
    stronger={"size_power": 1},
    negative_control={"batches": "same"},
)


def _ball(value):
    """Return a rational number as `flint.arb` takes it."""
    from flint import fmpq

    value = Fraction(value)
    return fmpq(value.numerator, value.denominator)


@statement(
    "fedrep.eq70_83",
    place="(70)-(72), (74)-(83), in the proof of Lemma 6",
    latex=r"\|F\|_F \le \tfrac{\delta_k}{1 - \delta_k}\|W^*\|_2\,\mathrm{dist} \implies "
    r"\tfrac{2\eta}{rn}\langle Q, W^*\hat B^{*\top}\hat B xx^\top\hat B^\top\rangle = "
    r"-\tfrac{2\eta}{rn}\mathrm{tr}(F^\top W^*\hat B^{*\top}\hat B xx^\top) \le 2\eta"
    r"\tfrac{\delta_k}{1 - \delta_k}\bar\sigma_{\max}^2, \quad -\tfrac{2\eta}{rn}\langle Q, "
    r"F xx^\top\hat B^\top\rangle = \tfrac{2\eta}{rn}x^\top F^\top F x \le 2\eta"
    r"\tfrac{\delta_k^2}{(1 - \delta_k)^2}\bar\sigma_{\max}^2",
    plain="If the bound of Lemma 4 holds, the second term of (72) is as small as the heads' "
    "errors.",
    stronger={"sign": 0, "bound": -1, "total": -1},
    negative_control={"sign": 1.0},
)
def eq70_83(budget, rng, *, sign=-1.0, bound=1.0, total=2):
    """Compare lhs and rhs of each step for any heads near W*B*'B, and any gradient.

    (82) and (83) are true with 1 in place of 2 as well.
    """
    yield from derived(_steps_of_72(budget, rng, sign, bound), 1e-9)
    yield from _sums(total)


def _steps_of_72(budget, rng, sign, bound):
    for n, d, k in ((1, 2, 1), (5, 7, 2), (8, 6, 3), (4, 9, 4)):
        for _ in range(budget(8, 40, 200)):
            truth, B = instance(n, d, k, rng, distance=float(rng.uniform(0.05, 1.0)))
            far = np.linalg.norm(truth.B - B @ (B.T @ truth.B), 2)
            delta, largest = float(rng.uniform(0.0, 0.9)), np.linalg.norm(truth.W, 2)
            F = rng.standard_normal((n, k))
            F *= delta / (1.0 - delta) * largest * far / np.linalg.norm(F)
            A = truth.W @ truth.B.T @ B
            W, S = A - F, rng.standard_normal((n, d))
            Q = W @ B.T - truth.W @ truth.B.T
            eta = 10.0 ** rng.uniform(-2.0, 0.0)
            where = {"n": n, "d": d, "k": k, "delta": delta, "eta": eta}
            new = B - eta / n * S.T @ W
            cross = eta / n * B.T @ S.T @ W
            square = (eta / n) ** 2 * W.T @ S @ S.T @ W
            triangle = np.eye(k) - cross - cross.T + square
            scale = 1.0 + eta * largest * np.abs(S).max() + eta * largest**2 * (1.0 + np.sum(F**2))
            slack = 1e-9 * scale
            yield "(70)", relative(triangle, new.T @ new, scale), where
            least = np.linalg.eigvalsh(new.T @ new)[0]
            stretch = np.linalg.eigvalsh(cross + cross.T)[-1]
            yield "(71), bound", float(1.0 - stretch), float(least + slack), where
            x = rng.standard_normal(k)
            x /= np.linalg.norm(x)
            # (72): the quadratic form, split at Q.
            form = 2.0 * eta / n * x @ W.T @ S @ B @ x
            apart = [2.0 * eta / n * x @ W.T @ M @ B @ x for M in (S - Q, Q)]
            pair = x @ (cross + cross.T) @ x, sum(apart)
            yield "(72)", max(relative(each, form, scale) for each in pair), where
            inner, first, second = (
                2.0 * eta / n * np.sum(Q * np.outer(M @ x, B @ x)) for M in (W, A, -F)
            )
            pair = inner, first + second
            yield "(74)", max(relative(each, apart[1], scale) for each in pair), where
            trace = sign * 2.0 * eta / n * np.trace(F.T @ A @ np.outer(x, x))
            yield "(76)", relative(trace, first, scale), where
            own = -sign * 2.0 * eta / n * np.sum((F @ x) ** 2)
            yield "(81)", relative(own, second, scale), where
            size, heads = np.linalg.norm(F), np.linalg.norm(np.outer(A @ x, x))
            ratio, sigma = delta / (1.0 - delta), largest / np.sqrt(n)
            for name, left, right in (
                ("(77)", first, 2.0 * eta / n * size * heads),
                ("(79)", heads, largest),
                ("(80)", 2.0 * eta / n * size * largest, 2.0 * eta * ratio * sigma**2),
                ("(81)", second, 2.0 * eta * ratio**2 * sigma**2),
            ):
                yield f"{name}, bound", float(left), float(bound * right + slack), where


def _sums(total):
    """Yield (82), times (1 - delta)^2/delta, and (83), sigma_max^2 >= 1 and delta + delta' < 1."""
    yield everywhere(
        lambda delta: (1 - delta) + delta,
        lambda delta: _ball(total) + 0 * delta,
        {"delta": (Fraction(0), Fraction(1))},
        name="(82)",
    )
    yield everywhere(
        lambda both: (1 - both) ** 2,
        lambda both: _ball(total) + 0 * both,
        {"both": (Fraction(0), Fraction(1))},
        name="(83), what delta' contributes",
    )
