"""(48) to (50) and the last displays of Lemma 5's proof: sums, nets, and what is conditioned on."""

from fractions import Fraction as Q
from itertools import product

import numpy as np

from linrep.claims import statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Region, at_most, lines, measured
from linrep.claims.measurements import relative
from linrep.papers.fedrep import model
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
    inside, beyond = "printed, Q inside the sum, rn > 1", "printed, i from 1 to n, r < 1"
    found = model.displays(sums(budget, rng, share, inside, beyond), but=[inside, beyond])
    yield model.misprinted(
        found["Q outside the sum"], found[inside], "second line of (48)", name="(48), first line"
    )
    yield model.misprinted(found["sums to rn"], found[beyond], "(50)", name="(49)")


def sums(budget, rng, share, inside, beyond):
    """Yield how far each form of both displays is from the operators."""
    for rn, n, m, d, k in ((1, 3, 2, 3, 1), (3, 7, 4, 5, 2), (2, 4, 1, 6, 4), (6, 8, 9, 4, 4)):
        at = {"rn": rn, "n": n, "m": m, "d": d, "k": k}
        for _ in range(budget(2, 10, 50)):
            X, L = rng.standard_normal((rn, m, d)), rng.standard_normal((rn, d))  # L is Q
            W, A = rng.standard_normal((rn, k)), model.sensing(X)
            error = (A.T @ (A @ L.ravel())).reshape(rn, d) / m - L
            terms = np.einsum("ijd,id,ije->ije", X, L, X)  # <x_ij, q_i> x_ij
            yield "Q outside the sum", relative(share * terms.sum(axis=1) / m - L, error), at
            if rn > 1:
                yield inside, relative(terms.sum(axis=1) / m - rn * L, error), at
            each = product(range(rn), range(m))
            summed = sum(np.outer(share * terms[i, j] - L[i], W[i]) for i, j in each)
            yield "sums to rn", relative(summed / (rn * m), error.T @ W / rn), at
            yield beyond, np.inf, at  # Q and W have no rows of clients that do not take part


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

    def exact():
        # The matrix is a number, of R^1 the only quarter-net is {1, -1}.
        for name, x, q in (
            ("d = k = rn = m = 1", 2, 1),
            ("of any size", 10**20, 1),
            ("of any size", 10**20, Q(1, 10**60)),
        ):
            value = abs(matrix(x, q, 1))
            yield name, at_most(value**power, factor * value), {"x": x, "q": str(q), "w": 1}

    def circles():
        for _ in range(budget(200, 2000)):
            d, k = (int(size) for size in rng.integers(1, 3, 2))
            # From parallel rows, whose maximum a net can miss, to independent ones.
            M = np.outer(rng.standard_normal(d), rng.standard_normal(k))
            M += rng.choice([0.0, 1.0]) * rng.standard_normal((d, k))
            bound = factor * float((net(d, rng) @ M @ net(k, rng).T).max())
            relation = at_most(float(np.linalg.norm(M, 2)) ** power, bound)
            yield "nets of circles", relation, {"M": M.tolist()}

    yield from measured(exact(), strength=PROVED).values()
    yield from measured(circles(), strength=PROVED if power == 1 else "").values()


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
    negative_control={"slack": Q(-1, 10)},
)
def conditioning(budget, rng, *, given=("complement", "event"), slack=Q(0)):
    """Enumerate probabilities of A and E in tenths: P(A) <= P(A | .) + P(complement of E).

    The printed inequality has P(A | .) on its left; the proof needs P(A), Lemma 5's own event.
    """

    def tenths():
        for parts in product((Q(tenth, 10) for tenth in range(11)), repeat=3):
            inside, outside, rest = parts  # A and E, A without E, E without A
            event, A = inside + rest, inside + outside
            at = {"P(A and E)": str(inside), "P(A)": str(A), "P(E)": str(event)}
            for name, both, size in (("event", inside, event), ("complement", outside, 1 - event)):
                if size > 0 and sum(parts) <= 1:
                    share, bound = both / size, both / size + 1 - event + slack
                    yield name, at_most(A, bound), at
                    if name == "complement":
                        yield "as printed", at_most(share, bound), at

    found = measured(tenths(), strength=PROVED, quantity="P(A)")
    if len(given) > 1:
        yield found["as printed"]
    yield model.read_as(
        [found[which] for which in given],
        name="what it leaves of P(A), given",
        phrase="P(... | complement of E)",
        printed_elsewhere={"event": "the display before, with 9^(d+k)"},
    )


conditioning.corrected(
    "fedrep.lemma5.conditioning.corrected",
    latex=r"P(A) \le P(A \mid \mathcal E) + P(\mathcal E^c)",
    plain="P(A) is at most P(A | E), rows being short in E, plus the probability of the "
    "complement of E.",
    constants={"given": ("event",)},
    stronger={"slack": -1},
    negative_control={"given": ("complement",)},
)


@lines("fedrep.lemma5.events", Region(q=(0, Q(1, 2))), steps=["q + q^10 <= 1"])
def two_events(q):
    """Sum the two events of one client, over q^111."""
    return {"q + q^10 <= 1": at_most(q + q**10, 1)}


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
    """Prove the first with q = exp(-k^2 log(rn)), at most 1/2; `cost` is what the other one loses.

    Over q^111 it has at most q + q^10 on its left, as 121 k^3 - 111 k^2 >= 10 k^2.
    """
    yield two_events.measure()
    sizes = product((2, 3, 10, 1000), (1, 2, 3))
    found = (
        ("all clients", at_most(Q(rn), Q(rn) ** (cost * k**2)), {"rn": rn, "k": k})
        for rn, k in sizes
    )
    yield from measured(found, strength=PROVED, quantity="rn").values()
