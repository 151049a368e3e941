"""Section 4.2: what term (I) of (4) does alone, and to over-fitting."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, Fact, Identity, Readings, Together, statement
from linrep.claims.evidence import FAILS, PROVED

_STEP = 1e-6


def _rates(B, W):
    """Return singular values of BW' and their rates along (I), by differences and by formula."""

    def moved(t):
        left, right = B + t * B @ (W.T @ W), W + t * W @ (B.T @ B)
        return np.linalg.svd(left @ right.T, compute_uv=False)[: B.shape[1]]

    found = (moved(_STEP) - moved(-_STEP)) / (2.0 * _STEP)
    U, values, VT = np.linalg.svd(B @ W.T)
    k = B.shape[1]
    U, values, V = U[:, :k], values[:k], VT[:k].T
    return values, found, values * (np.sum((U.T @ B) ** 2, axis=1) + np.sum((V.T @ W) ** 2, axis=1))


@statement(
    "flute.eq4.term1",
    place="Section 4.2, term (I)",
    latex=r"\min_{B,W} -\gamma_1\|BW\|_F^2 \text{ alone enlarges all } k \text{ singular values"
    r" of } BW \text{ uniformly}",
    plain="Minimizing term (I) alone increases all k singular values of BW, uniformly.",
    negative_control={"growth": 2.1},
    stronger={"growth": 1},
)
def term1(budget, rng, *, growth=2.0):
    """Measure the rates of singular values along the gradient of (I), in units of 2 gamma_1."""
    rates, grows = [], []
    for _ in range(budget(40, 300)):
        d, n = (int(side) for side in rng.integers(2, 7, 2))
        k = int(rng.integers(1, min(d, n) + 1))
        if rng.random() < 0.5:
            B, W = (rng.standard_normal((side, k)) for side in (d, n))
        else:  # balanced
            U, V = (np.linalg.qr(rng.standard_normal((side, k)))[0] for side in (d, n))
            root = np.sqrt(np.linspace(2.0, 0.3, k))
            B, W = U * root, V * root
        values, found, expected = _rates(B, W)
        where = {"B": B.tolist(), "W": W.tolist()}
        if k > 1 and np.min(-np.diff(values)) < 1e-2:
            continue  # differences do not see which is which
        rates.append((float(np.abs(found - expected).max() / expected.max()), where))
        grows += [
            (growth * value**2, rate * (1.0 + 1e-9), where)
            for value, rate in zip(values.tolist(), expected.tolist(), strict=True)
        ]
    # Balanced factors of diag(2, 1), a step with 2 gamma_1 eta = 1/8: by (1 + s/8)^2 each.
    before = Fraction(2), Fraction(1)
    after = [value * (1 + value / 8) ** 2 for value in before]
    factors = [b / a for a, b in zip(before, after, strict=True)]
    amounts = [b - a for a, b in zip(before, after, strict=True)]
    where = {"BW": [[2, 0], [0, 1]], "2 gamma_1 eta": 0.125}
    yield Readings(
        [
            Together(
                [
                    Identity(rates, 1e-5, name="rates", strength=PROVED),
                    Cases(
                        grows,
                        quantity="claimed rate of a singular value",
                        name="at least twice its square",
                        strength=PROVED,
                    ),
                ],
                name="every one grows",
            ),
            *(
                Cases(
                    [(abs(pair[0] - pair[1]), Fraction(0), where)],
                    name=f"by one {name}",
                    quantity=f"difference of the {name}s",
                    strength=PROVED,
                )
                for name, pair in (("factor", factors), ("amount", amounts))
            ),
        ],
        name="enlargement",
        phrase="a uniform enlargement of all k singular values",
    )
    yield Fact("factor of 2 over that of 1 in a step", float(factors[0] / factors[1]))


#: gamma_1 and gamma_2 of Theorem 5.1, and of Figure 4 with gamma_1 = gamma_2.
_WEIGHTS = ((Fraction(1, 4), Fraction(1, 8)), (Fraction(1, 8), Fraction(1, 8)))
_TRUTH, _NOISES = (Fraction(2), Fraction(1)), (Fraction(-1, 4), Fraction(1, 4))


def _shrinkage(weight, gamma1, gamma2):
    """Return what the minimizer of (4) multiplies the best model of rank k by, where X'X/N is I.

    Of factors with a given product balanced ones have the least penalty, (2 gamma_2 - gamma_1) s^2
    for each singular value s, beside the loss, weight (s - sigma)^2.
    """
    return weight / (weight + 2 * gamma2 - gamma1)


def _overfitting(weight, gamma1, gamma2):
    """Return by how much the mean loss on new labels is above that on a client's own.

    d = M = 2, k = 1, X'X/N = I, and labels' noise moves Phi = diag(2, 1) by 1/4 up or down on its
    diagonal: all four cases are summed. The first direction stays the larger one.
    """
    total = Fraction(0)
    for first in _NOISES:
        model = _shrinkage(weight, gamma1, gamma2) * (_TRUTH[0] + first)
        for second in _NOISES:
            own = (model - _TRUTH[0] - first) ** 2 + (_TRUTH[1] + second) ** 2
            for new_first, new_second in product(_NOISES, _NOISES):
                new = (model - _TRUTH[0] - new_first) ** 2 + (_TRUTH[1] + new_second) ** 2
                total += (new - own) / 16
    return total


@statement(
    "flute.eq4.overfitting",
    place="Section 4.2, term (I)",
    latex=r"\text{with } -\gamma_1\|BW\|_F^2:\quad \mathbb E[L_{\text{new}} - L_{\text{train}}]"
    r" \text{ is smaller}",
    plain="Term (I) of (4) mitigates over-fitting: with it the loss on new labels exceeds that on "
    "a client's own by less.",
    negative_control={"share": Fraction(1, 10)},
    holds_with={"term": "II"},
    expected=FAILS,
)
def overfitting(budget, rng, *, term="I", share=Fraction(999, 1000)):
    """Compare minimizers of (4) with and without a term, and with those of the loss alone.

    The loss counts once or half, gamma_1 and gamma_2 are those of Theorem 5.1 and of Figure 4.
    """
    without, alone = [], []
    for weight, (gamma1, gamma2) in product((Fraction(1, 2), Fraction(1)), _WEIGHTS):
        at = {"weight of the loss": weight, "gamma_1": gamma1, "gamma_2": gamma2}
        both = _overfitting(weight, gamma1, gamma2)
        other = (Fraction(0), gamma2) if term == "I" else (gamma1, Fraction(0))
        without.append((both, share * _overfitting(weight, *other), at))
        if gamma1 == 2 * gamma2:
            alone.append((both, share * _overfitting(weight, Fraction(0), Fraction(0)), at))
    quantity = "over-fitting with it"
    yield Readings(
        [
            Cases(without, quantity=quantity, name="against the other term alone"),
            Cases(alone, quantity=quantity, name="both terms against none, at Theorem 5.1's"),
        ],
        name="over-fitting at the minimum",
        phrase="mitigates local over-fitting",
    )
