"""Section 4.2: what term (I) of (4) does alone, and to over-fitting."""

from fractions import Fraction as Q
from itertools import product

import numpy as np

from linrep.claims import Cases, Identity, Readings, Together, statement
from linrep.claims.evidence import FAILS, PROVED
from linrep.claims.laws import at_most, measured
from linrep.papers.flute.counterexamples.eq4_overfitting import shrinkage

STEP = 1e-6


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
    """Measure the rates of singular values along the gradient of (I), in units of 2 gamma_1.

    By differences, and by a formula.
    """
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

        def moved(t, B=B, W=W, k=k):
            left, right = B + t * B @ (W.T @ W), W + t * W @ (B.T @ B)
            return np.linalg.svd(left @ right.T, compute_uv=False)[:k]

        U, values, VT = np.linalg.svd(B @ W.T)
        U, values, V = U[:, :k], values[:k], VT[:k].T
        expected = values * (np.sum((U.T @ B) ** 2, axis=1) + np.sum((V.T @ W) ** 2, axis=1))
        if k > 1 and np.min(-np.diff(values)) < 1e-2:
            continue  # differences do not see which is which
        found, where = (
            (moved(STEP) - moved(-STEP)) / (2.0 * STEP),
            {"B": B.tolist(), "W": W.tolist()},
        )
        rates.append((float(np.abs(found - expected).max() / expected.max()), where))
        grows += [
            (growth * value**2, rate * (1.0 + 1e-9), where)
            for value, rate in zip(values.tolist(), expected.tolist(), strict=True)
        ]
    every = Together([
        Identity(rates, 1e-5, name="rates", strength=PROVED),
        Cases(grows, quantity="claimed rate of a singular value",
              name="at least twice its square", strength=PROVED),
    ], name="every one grows")  # fmt: skip
    # Balanced factors of diag(2, 1), a step with 2 gamma_1 eta = 1/8: by (1 + s/8)^2 each.
    where, factors = {"BW": [[2, 0], [0, 1]], "2 gamma_1 eta": 0.125}, (Q(5, 4) ** 2, Q(9, 8) ** 2)
    amounts = [s * (factor - 1) for s, factor in zip((2, 1), factors, strict=True)]
    uniform = [
        Cases([(abs(a - b), Q(0), where)], name=f"by one {name}",
              quantity=f"difference of the {name}s", strength=PROVED)
        for name, (a, b) in (("factor", factors), ("amount", amounts))
    ]  # fmt: skip
    phrase = "a uniform enlargement of all k singular values"
    yield Readings([every, *uniform], name="enlargement", phrase=phrase)


#: gamma_1 and gamma_2 of Theorem 5.1, and of Figure 4 with gamma_1 = gamma_2.
WEIGHTS = ((Q(1, 4), Q(1, 8)), (Q(1, 8), Q(1, 8)))
NOISES = (Q(-1, 4), Q(1, 4))


def excess(weight, gamma1, gamma2):
    """Return by how much the mean loss on new labels is above that on a client's own.

    d = M = 2, k = 1, X'X/N = I, and labels' noise moves Phi = diag(2, 1) by 1/4 up or down on its
    diagonal: all four cases are summed. The first direction stays the larger one.
    """
    total = Q(0)
    for first, second in product(NOISES, repeat=2):
        model = shrinkage(gamma1, gamma2, weight) * (2 + first)
        own = (model - 2 - first) ** 2 + (1 + second) ** 2
        for new_first, new_second in product(NOISES, repeat=2):
            total += ((model - 2 - new_first) ** 2 + (1 + new_second) ** 2 - own) / 16
    return total


@statement(
    "flute.eq4.overfitting",
    place="Section 4.2, term (I)",
    latex=r"\text{with } -\gamma_1\|BW\|_F^2:\quad \mathbb E[L_{\text{new}} - L_{\text{train}}]"
    r" \text{ is smaller}",
    plain="Term (I) of (4) mitigates over-fitting: with it the loss on new labels exceeds that on "
    "a client's own by less.",
    negative_control={"share": Q(1, 10)},
    holds_with={"term": "II"},
    expected=FAILS,
)
def overfitting(budget, rng, *, term="I", share=Q(999, 1000)):
    """Compare minimizers of (4) with and without a term, and with those of the loss alone.

    The loss counts once or half, gamma_1 and gamma_2 are those of Theorem 5.1 and of Figure 4.
    """

    def found():
        for weight, (gamma1, gamma2) in product((Q(1, 2), Q(1)), WEIGHTS):
            at = {"weight of the loss": weight, "gamma_1": gamma1, "gamma_2": gamma2}
            both = excess(weight, gamma1, gamma2)
            other = (Q(0), gamma2) if term == "I" else (gamma1, Q(0))
            name = "against the other term alone"
            yield name, at_most(both, share * excess(weight, *other)), at
            if gamma1 == 2 * gamma2:
                name = "both terms against none, at Theorem 5.1's"
                yield name, at_most(both, share * excess(weight, Q(0), Q(0))), at

    yield Readings(
        list(measured(found(), quantity="over-fitting with it").values()),
        name="over-fitting at the minimum", phrase="mitigates local over-fitting",
    )  # fmt: skip
