"""Section 4.1: what it costs to solve for a head."""

import math
import operator
from itertools import product

import numpy as np

from linrep.claims import Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured

FACTOR = 4  # an O(.) that holds for all sizes


def _counted(operation):
    def method(*numbers):
        Counted.operations += 1
        return Counted(operation(*(number.value for number in numbers)))

    return method


class Counted:
    """A number that counts the operations it takes part in."""

    operations = 0

    def __init__(self, value):
        self.value = value

    __add__, __sub__ = _counted(operator.add), _counted(operator.sub)
    __mul__, __truediv__ = _counted(operator.mul), _counted(operator.truediv)
    root = _counted(math.sqrt)


def solve_head(Z, y):
    """Return the least-squares head on features Z (m, k), by Cholesky's factorization."""
    k = Z.shape[1]
    L, w = np.empty((k, k), dtype=object), np.empty(k, dtype=object)
    for p in range(k):
        for q in range(p + 1):
            entry = Z[:, p] @ Z[:, q]
            if q:
                entry = entry - L[p, :q] @ L[q, :q]
            L[p, q] = entry.root() if p == q else entry / L[q, q]
    for p in range(k):
        entry = Z[:, p] @ y
        if p:
            entry = entry - L[p, :p] @ w[:p]
        w[p] = entry / L[p, p]
    for p in reversed(range(k)):
        if p < k - 1:
            w[p] = w[p] - L[p + 1 :, p] @ w[p + 1 :]
        w[p] = w[p] / L[p, p]
    return w


def count(m, k, d=None):
    """Return the operations of :func:`solve_head`, with those of X B where d is given."""
    # Features whose Gram matrix is positive definite; the count does not depend on them.
    Z = [[Counted(float(p == j % k) + 0.1 * (p + j)) for p in range(k)] for j in range(m)]
    Counted.operations = 0
    solve_head(np.array(Z), np.array([Counted(1.0)] * m))
    return Counted.operations + (0 if d is None else m * k * (2 * d - 1))


def closed_form(m, k):
    """Return the number of operations as a polynomial."""
    gram = k * (k + 1) // 2 * (2 * m - 1) + k * (2 * m - 1)
    cholesky = (2 * k**3 + 3 * k**2 + k) // 6
    return gram + cholesky + 2 * k**2


@statement(
    "fedrep.heads_cost",
    place="Section 4.1, below (8)",
    latex=r"\hat w = \arg\min_w \hat f_i^t(w, B)\text{ in }O(mk^2 + k^3)\text{ operations}",
    plain="A head takes O(m k^2 + k^3) operations, once the features B'x of the samples are "
    "computed.",
    stronger={"power": -1},
    negative_control={"power": 1},
)
def heads_cost(budget, rng, *, power=2):
    """Count the operations of normal equations and Cholesky, with those of the features or not."""

    def counts():
        pairs = product((1, 2, 5, 20, 60), budget((1, 2, 5), (1, 2, 5, 20)))
        sizes = [(m, k) for m, k in pairs if m >= k]
        # Of large ones by the polynomial that the counts give.
        large = [(m, k) for m in (10**3, 10**6, 10**9) for k in (1, 10, m // 10, m)]
        for m, k in sizes + large:
            allowed, at = FACTOR * (m * k**power + k ** (power + 1)), {"m": m, "k": k}
            given = closed_form(m, k) if (m, k) in large else count(m, k)
            yield "features given", at_most(given, allowed), at
            if (m, k) in sizes:
                whole = at_most(count(m, k, d=10_000), allowed)
                yield "from samples and B", whole, {**at, "d": 10_000}

    given, whole = measured(counts(), quantity="operations", strength=PROVED).values()
    phrase = "solve for the optimal w directly in only O(mk^2 + k^3) operations"
    yield Readings([given, whole.underived()], name="what is given", phrase=phrase)
