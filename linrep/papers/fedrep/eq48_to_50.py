"""(48) to (50) and the last displays of Lemma 5's proof: sums, nets, and what is conditioned on."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, everywhere, proved, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.papers.fedrep._common import by_name, misprinted, read_as, sensing
from linrep.papers.fedrep.counterexamples.lemma5_eq50 import matrix


@statement(
    "fedrep.lemma5.eq48",
    place="(48), (49), in the proof of Lemma 5",
    latex=r"\tfrac1m\mathcal A^*\mathcal A(Q) - Q = \tfrac1m\sum_{i,j}\langle x_i^j, q_i\rangle e_i"
    r"(x_i^j)^\top - Q, \qquad \tfrac{1}{rn}\big(\tfrac1m\mathcal A^*\mathcal A(Q) - Q\big)^\top W"
    r"= \tfrac{1}{rnm}\sum_{i,j}\big(\langle x_i^j, q_i\rangle x_i^j w_i^\top - q_i w_i^\top\big)",
    plain="The gradient's deviation from its mean is a sum over clients and samples.",
    stronger={"share": 0},
    negative_control={"share": 1.1},
)
def eq48(budget, rng, *, share=1.0):
    """Compare both displays with the operators; the first is printed in two ways."""
    found = by_name(_sums(budget, rng, share))
    inside, beyond = "printed, Q inside the sum, rn > 1", "printed, i from 1 to n, r < 1"
    for name, place, form, printed in (
        ("(48), first line", "second line of (48)", "Q outside the sum", inside),
        ("(49)", "(50)", "sums to rn", beyond),
    ):
        item = misprinted({key: found[key] for key in (form, printed)}, place, name=name)
        yield proved(item, but=[printed])


def _sums(budget, rng, share):
    for rn, n, m, d, k in ((1, 3, 2, 3, 1), (3, 7, 4, 5, 2), (2, 4, 1, 6, 4), (6, 8, 9, 4, 4)):
        where = {"rn": rn, "n": n, "m": m, "d": d, "k": k}
        for _ in range(budget(2, 10, 50)):
            X, Q = rng.standard_normal((rn, m, d)), rng.standard_normal((rn, d))
            W, A = rng.standard_normal((rn, k)), sensing(X)
            error = (A.T @ (A @ Q.ravel())).reshape(rn, d) / m - Q
            terms = np.einsum("ijd,id,ije->ije", X, Q, X)  # <x_ij, q_i> x_ij
            yield "Q outside the sum", relative(share * terms.sum(axis=1) / m - Q, error), where
            if rn > 1:
                inside = terms.sum(axis=1) / m - rn * Q
                yield "printed, Q inside the sum, rn > 1", relative(inside, error), where
            summed = sum(
                np.outer(share * terms[i, j] - Q[i], W[i]) for i in range(rn) for j in range(m)
            )
            yield "sums to rn", relative(summed / (rn * m), error.T @ W / rn), where
            # Q and W have rn rows: there are none of the clients left over.
            yield "printed, i from 1 to n, r < 1", np.inf, where


def net(d, rng=None):
    """Return a quarter-net of the unit sphere of R^d, d = 1 or 2, turned at random."""
    if d == 1:
        return np.array([[1.0], [-1.0]])
    # Points whose angle is at most 2 asin(1/8) from one of these are at a distance of at most 1/4.
    count = int(np.ceil(np.pi / (2.0 * np.arcsin(0.125))))
    turn = 0.0 if rng is None else rng.uniform(0.0, 2.0 * np.pi)
    angles = turn + 2.0 * np.pi * np.arange(count) / count
    return np.column_stack([np.cos(angles), np.sin(angles)])


@statement(
    "fedrep.lemma5.eq50",
    place="(50), in the proof of Lemma 5",
    latex=r"\Big\|\frac{1}{rnm}\sum_{i,j}\big(\langle x_i^j, q_i\rangle x_i^j w_i^\top - q_i"
    r"w_i^\top\big)\Big\|_2^2 \le 2\max_{u \in N_d, v \in N_k} u^\top\Big(\ldots\Big)v",
    plain="The squared norm of a matrix is at most twice its largest value on quarter-nets.",
    negative_control={"factor": 1},
)
def eq50(budget, rng, *, power=2, factor=2):
    """Compare one client and sample in whole numbers, and random matrices on nets of circles."""
    # The matrix is 3; of R^1 the only quarter-net is {1, -1}.
    x, q, w = 2, 1, 1
    value = abs(matrix(x, q, w))
    exact = [(value**power, factor * value, {"x": x, "q": q, "w": w})]
    yield Cases(exact, name="d = k = rn = m = 1", strength=PROVED)
    sizes = [
        (value**power, factor * value, {"x": x, "q": str(q), "w": 1})
        for x, q in ((10**20, 1), (10**20, Fraction(1, 10**60)))
        for value in [abs(matrix(x, q, 1))]
    ]
    yield Cases(sizes, name="of any size", strength=PROVED)
    cases = []
    for _ in range(budget(200, 2000)):
        d, k = (int(size) for size in rng.integers(1, 3, 2))
        # From parallel rows, whose maximum a net can miss, to independent ones.
        M = np.outer(rng.standard_normal(d), rng.standard_normal(k))
        M += rng.choice([0.0, 1.0]) * rng.standard_normal((d, k))
        largest = float((net(d, rng) @ M @ net(k, rng).T).max())
        cases.append((float(np.linalg.norm(M, 2)) ** power, factor * largest, {"M": M.tolist()}))
    yield Cases(cases, name="nets of circles", strength=PROVED if power == 1 else "")


eq50.corrected(
    "fedrep.lemma5.eq50.corrected",
    latex=r"\|M\|_2 \le 2\max_{u \in N_d, v \in N_k} u^\top M v",
    plain="The norm of a matrix, not its square, is at most twice its largest value on nets.",
    constants={"power": 1},
    stronger={"power": 0, "factor": -1},
    negative_control={"factor": 1},
)


@statement(
    "fedrep.lemma5.conditioning",
    place="the last display of the proof of Lemma 5",
    latex=r"P(A \mid \mathcal E^c) \le P(A \mid \mathcal E^c) + P(\mathcal E^c), \quad "
    r"P(A \mid \mathcal E^c) \le e^{-110 d} \implies P(A) \le e^{-110 d} + P(\mathcal E^c)",
    plain="P(A), which the proof needs, is at most P(A | not E) + P(not E); what is printed there, "
    "P(A | not E), is so for all events.",
    negative_control={"slack": Fraction(-1, 10)},
)
def conditioning(budget, rng, *, given=("complement", "event"), slack=Fraction(0)):
    """Enumerate probabilities of A and E in tenths: P(A) <= P(A | .) + P(complement of E).

    The printed inequality has P(A | .) on its left; the proof needs P(A), Lemma 5's own event.
    """
    if len(given) > 1:
        printed = _tenths("complement", slack, printed=True)
        yield Cases(printed, name="as printed", quantity="P(A | complement of E)", strength=PROVED)
    yield read_as(
        [
            Cases(_tenths(which, slack), name=which, quantity="P(A)", strength=PROVED)
            for which in given
        ],
        name="what it leaves of P(A), given",
        phrase="P(... | complement of E)",
        printed_elsewhere={"event": "the display before, with 9^(d+k)"},
    )


def _tenths(given, slack, *, printed=False):
    """Return P(A), or P(A | .), and its bound for all A and E whose probabilities are tenths."""
    tenth = Fraction(1, 10)
    cases = []
    for inside, outside, rest in product(range(11), repeat=3):  # A and E, A without E, E without A
        if inside + outside + rest > 10:
            continue
        event = tenth * (inside + rest)
        both, size = (inside, event) if given == "event" else (outside, 1 - event)
        if size == 0:
            continue
        share = tenth * both / size
        left = share if printed else tenth * (inside + outside)
        where = {"P(A and E)": str(tenth * inside), "P(A)": str(tenth * (inside + outside))}
        cases.append((left, share + 1 - event + slack, {**where, "P(E)": str(event)}))
    return cases


conditioning.corrected(
    "fedrep.lemma5.conditioning.corrected",
    latex=r"P(A) \le P(A \mid \mathcal E) + P(\mathcal E^c)",
    plain="P(A) is at most P(A | E), rows being short in E, plus the probability of the "
    "complement of E.",
    constants={"given": ("event",)},
    stronger={"slack": -1},
    negative_control={"given": ("complement",)},
)


def _exact(power):
    """Return a rational power as `flint.arb` takes it."""
    from flint import fmpq

    value = Fraction(power)
    whole = value.denominator == 1
    return int(value) if whole else fmpq(value.numerator, value.denominator)


@statement(
    "fedrep.lemma5.events",
    place="(44)-(47) and the event E, in the proof of Lemma 5",
    latex=r"e^{-112 k^2\log(rn)} + e^{-121 k^3\log(rn)} \le e^{-111 k^2\log(rn)}, \qquad "
    r"rn\,e^{-111 k^2\log(rn)} \le e^{-110 k^2\log(rn)} \qquad (rn \ge 2)",
    plain="The exponents of the events in the proof of Lemma 5 are right.",
    stronger={"cost": -1},
    negative_control={"cost": 0},
)
def events(budget, rng, *, cost=1):
    """Prove both with q = exp(-k^2 log(rn)), at most 1/2; `cost` is what each exponent loses."""
    yield everywhere(
        # 121 k^3 - 112 k^2 + cost k^2 >= (9 + cost) k^2; divided by q^(112 - cost)
        lambda q: q ** _exact(cost) + q ** _exact(9 + cost),
        lambda q: 1 + 0 * q,
        {"q": (Fraction(0), Fraction(1, 2))},
        name="two events of one client",
    )
    cases = [
        (Fraction(rn), Fraction(rn) ** (cost * k**2), {"rn": rn, "k": k})
        for rn, k in product((2, 3, 10, 1000), (1, 2, 3))
    ]
    yield Cases(cases, name="all clients", quantity="rn", strength=PROVED)
