"""Section 4.2: what term (I) of (4) does alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Fact, Identity, Readings, Together, statement
from linrep.claims.evidence import PROVED

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
