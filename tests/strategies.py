"""What Hypothesis draws: shapes, kinds and a seed, from which all arrays follow."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from linrep import ClientData, SharedRepresentation

seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True, repr=False)
class Case:
    """A small problem: clients' samples, a truth, and a place to start."""

    X: np.ndarray
    y: np.ndarray
    offsets: np.ndarray
    B: np.ndarray
    W: np.ndarray
    B_star: np.ndarray
    W_star: np.ndarray
    noise: float
    orthonormal: bool
    rng: np.random.Generator
    seed: int

    def __repr__(self):
        m = np.diff(self.offsets).tolist()
        return f"Case(n={self.n}, d={self.d}, k={self.k}, m={m}, seed={self.seed})"

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))

    @property
    def n(self):
        return len(self.offsets) - 1

    @property
    def d(self):
        return self.X.shape[1]

    @property
    def k(self):
        return self.B.shape[1]

    @property
    def m(self):
        return int(np.diff(self.offsets).max())

    @property
    def clients(self):
        return [(self.X[start:stop], self.y[start:stop]) for start, stop in pairwise(self.offsets)]

    @property
    def truth(self):
        return SharedRepresentation(self.B_star, self.W_star, self.noise)

    @property
    def data(self):
        return ClientData(self.X, self.y, self.offsets, truth=self.truth)


def frame(rng, d, k):
    return np.linalg.qr(rng.standard_normal((d, k)))[0]


@st.composite
def cases(
    draw,
    *,
    n=(1, 5),
    d=(1, 8),
    k=(1, 4),
    m=(1, 9),
    ragged=None,
    kinds=("normal", "repeated", "column"),
    heads=("normal", "equal", "zero"),
    noise=(0.0, 0.1),
    orthonormal=None,
    k_within_n=True,
):
    """Draw a Case; k is at most d, and at most n unless said otherwise.

    kinds: covariates normal; each client's first two samples equal; or the first column zero.
    heads: normal; all singular values of W* equal; or no signal at all.
    """
    n, d = draw(st.integers(*n), label="n"), draw(st.integers(*d), label="d")
    k = draw(st.integers(k[0], min(k[1], d, n if k_within_n else d)), label="k")
    kind = draw(st.sampled_from(kinds), label="covariates")
    head = draw(st.sampled_from(heads), label="heads")
    noise = draw(st.sampled_from(noise), label="noise")
    orthonormal = draw(st.booleans(), label="orthonormal") if orthonormal is None else orthonormal
    ragged = draw(st.booleans(), label="ragged") if ragged is None else ragged
    most = draw(st.integers(*m), label="m")
    seed = draw(seeds, label="seed")
    rng = np.random.default_rng(seed)
    sizes = rng.integers(m[0], most, n, endpoint=True) if ragged else np.full(n, most)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    X = rng.standard_normal((offsets[-1], d))
    if kind == "repeated":
        for start, stop in pairwise(offsets):
            X[min(start + 1, stop - 1)] = X[start]
    elif kind == "column":
        X[:, 0] = 0.0
    B_star = frame(rng, d, k)
    W_star = rng.standard_normal((n, k))
    if head == "equal":
        W_star = frame(rng, n, k) if n >= k else frame(rng, k, n).T
    elif head == "zero":
        W_star = np.zeros((n, k))
    theta = np.repeat(W_star @ B_star.T, sizes, axis=0)
    y = np.sum(X * theta, axis=1) + noise * rng.standard_normal(offsets[-1])
    B = frame(rng, d, k) if orthonormal else rng.standard_normal((d, k))
    W = rng.standard_normal((n, k))
    return Case(X, y, offsets, B, W, B_star, W_star, noise, orthonormal, rng, seed)


#: Random shapes, and each of the edges by itself.
problems = st.one_of(
    cases(k_within_n=False),
    cases(k_within_n=False, k=(1, 1)),
    cases(k_within_n=False, d=(2, 8), k=(2, 4), m=(1, 1)),
    cases(k_within_n=False, n=(1, 1)),
    cases(k_within_n=False, d=(3, 3), k=(3, 3)),
    cases(k_within_n=False, noise=(0.0,)),
)
head_steps = st.one_of(st.none(), st.tuples(st.integers(1, 5), st.floats(0.01, 0.3)))


def arguments(case):
    """Return the clients as the public calls take them."""
    return case.X, case.y, case.offsets


def participants_of(case, data):
    """Draw some clients in any order, None for all."""
    count = data.draw(st.integers(0, case.n), label="participants")
    return case.rng.permutation(case.n)[:count] if count else None


#: Of clients, items, side information, the rank, and a seed.
completions = st.tuples(*[st.integers(1, 5)] * 3, st.integers(1, 3), seeds)


def completion(sizes):
    """Return entries by client, side information and factors."""
    n, d, p, k, seed = sizes
    rng = np.random.default_rng(seed)
    U, V, Z = (rng.standard_normal(shape) for shape in ((d, k), (p, k), (n, p)))
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 5, n))])
    items, values = rng.integers(0, d, offsets[-1]), rng.standard_normal(offsets[-1])
    return items, values, offsets, Z / np.linalg.norm(Z, axis=1, keepdims=True), U, V
