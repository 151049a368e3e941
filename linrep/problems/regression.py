"""Shared-representation regression: y = <B* w_i*, x> + noise, a head for each client."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb, sqrt
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.frozen import keep
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike, stream
from linrep.problems.samples import DESIGNS, draw_data, shown
from linrep.problems.subspace import orthonormalize, random_frame

HEADS = ("sphere", "scaled_qr", "unit_rows", "qr", "gaussian")
#: Up to so many subsets of clients extremes over them are exact.
SUBSETS_ENUMERATED = 5_000
_ROWS_AT_ONCE = 2**14  # of subsets whose singular values one call computes
_STARTS = 500  # directions from which subsets of small spread are looked for


@dataclass(frozen=True, eq=False)
class SharedRepresentation:
    r"""Ground truth of FedRep's linear setting.

    .. math:: y_i = \langle B^* w_i^*, x\rangle + \sigma \varepsilon

    Parameters
    ----------
    B : array_like, shape (d, k)
        Representation B*, orthonormal columns.
    W : array_like, shape (n, k)
        Heads; row i is client i's w_i*.
    noise : float, default 0
        Standard deviation sigma of the label noise (not its variance).
    design : {"gaussian", "rademacher", "uniform", "sphere", "student_t"}
        Distribution of the covariates, mean 0 and covariance I: normal, signs, uniform on
        [-sqrt(3), sqrt(3)]^d, uniform on the sphere of radius sqrt(d), and independent Student-t
        coordinates scaled to unit variance, a control that is not sub-Gaussian.
    degrees_of_freedom : float, default 5
        Of the Student-t design; more than 2.

    Raises
    ------
    ValueError
        If shapes do not fit, a value is not finite, or B's columns are not orthonormal.

    Notes
    -----
    FedRep, Section 4 and Assumptions 1 and 3.
    """

    B: NDArray[np.float64]
    W: NDArray[np.float64]
    noise: float = 0.0
    design: str = "gaussian"
    degrees_of_freedom: float = 5.0

    def __post_init__(self):
        B = check.array("B", self.B, (None, None))
        d, k = B.shape
        W = check.data("W", self.W, (None, k), copy=True)
        if k > d:
            raise ValueError(f"B must have at most as many columns as rows, got shape {B.shape}")
        if np.abs(B).max() > 2.0 or np.abs(B.T @ B - np.eye(k)).max() > 1e-8:
            raise ValueError("B must have orthonormal columns; see linrep.subspace.orthonormalize")
        check.choice("design", self.design, DESIGNS)
        freedom = check.real("degrees_of_freedom", self.degrees_of_freedom, above=2.0)
        noise = check.noise(self.noise)
        keep(self, B=orthonormalize(B), W=W, noise=noise, degrees_of_freedom=freedom)

    @classmethod
    def random(
        cls,
        *,
        n: int,
        d: int,
        k: int,
        heads: str = "sphere",
        condition: float | None = None,
        noise: float = 0.0,
        design: str = "gaussian",
        degrees_of_freedom: float = 5.0,
        store: bool = True,
        rng: RNGLike = None,
    ) -> SharedRepresentation:
        r"""Draw a ground truth: B* uniform over subspaces, W* in one of the conventions in use.

        Parameters
        ----------
        n, d, k : int
            Clients, ambient dimension, rank; 1 <= k <= min(n, d).
        heads : {"sphere", "scaled_qr", "unit_rows", "qr", "gaussian"}
            - ``"sphere"``: rows uniform on the sphere of radius sqrt(k) (FedRep, Assumption 3);
            - ``"scaled_qr"``: sqrt(k) times the Q factor of a normal matrix, so that
              W*'W* = k I (FedRep, Appendix A.1);
            - ``"unit_rows"``: rows of that Q factor scaled to norm 1 (published notebook,
              Figure 1);
            - ``"qr"``: the Q factor itself, W*'W* = I (published notebook, Figure 3);
            - ``"gaussian"``: independent entries N(0, 1/k), so that models have norm 1 in the
              mean square (Tripuraneni, Jin and Jordan, 2021).
        condition : float, optional
            Prescribed condition number of W*, at least 1: singular values in geometric
            progression, the Frobenius norm, and for ``"sphere"`` and ``"unit_rows"`` every row
            norm, as without it. Over subsets of clients the condition number is larger.
        noise, design, degrees_of_freedom
            See the class.
        store : bool, default True
            False returns an :class:`ImplicitRepresentation`, which has no B* and so any d.
        rng : optional
            Anything `numpy.random.default_rng` takes.

        Returns
        -------
        SharedRepresentation
        """
        n = check.integer("n", n, minimum=1)
        d = check.integer("d", d, minimum=1)
        k = check.rank(k, n, d)
        check.choice("heads", heads, HEADS)
        if condition is not None:
            condition = check.real("condition", condition, minimum=1.0, maximum=check.LARGEST)
            if heads == "gaussian":
                raise ValueError("condition must not be given with heads='gaussian'")
            if k == 1 and condition > 1.0:
                raise ValueError(f"condition must be 1 when k = 1, got {condition}")
        rng = stream(rng, "truth")
        if not store:
            if design != "gaussian":
                raise ValueError(f"store=False needs design='gaussian', got {design!r}")
            memory.require("heads", 3 * n * k, n=n, k=k)
            return ImplicitRepresentation(_draw_heads(n, k, heads, condition, rng), d, noise)
        memory.require("the representation and the heads", 3 * (n + d) * k, n=n, d=d, k=k)
        B = random_frame(d, k, rng)
        W = _draw_heads(n, k, heads, condition, rng)
        return cls(B, W, noise, design, degrees_of_freedom)

    @property
    def n(self) -> int:
        """Number of clients."""
        return self.W.shape[0]

    @property
    def d(self) -> int:
        """Ambient dimension."""
        return self.B.shape[0]

    @property
    def k(self) -> int:
        """Rank of the representation."""
        return self.B.shape[1]

    @property
    def theta(self) -> NDArray[np.float64]:
        """The clients' regression vectors as rows, W* B*', shape (n, d)."""
        return self.W @ self.B.T

    @property
    def condition(self) -> float:
        """Condition number of W*, all clients together."""
        singular_values = np.linalg.svd(self.W, compute_uv=False)
        smallest = singular_values[-1] if self.n >= self.k else 0.0
        return float(singular_values[0] / smallest) if smallest > 0.0 else np.inf

    def with_heads(self, W: ArrayLike) -> SharedRepresentation:
        """Return a truth of the same representation, noise and design for other clients.

        Parameters
        ----------
        W : array_like, shape (n, k)
            Heads of the other clients.
        """
        return replace(self, W=check.array("W", W, (None, self.k)))

    def sigma_max(self, participants: int | None = None) -> float:
        r"""Return the largest singular value of W_I*/sqrt(rn) over subsets I of rn clients.

        Parameters
        ----------
        participants : int, optional
            Size rn of the subsets; all clients by default.

        Returns
        -------
        float
            Exact for all clients, or where at most 5000 subsets exist; otherwise an upper bound,
            the smaller of :math:`\|W^*\|_2/\sqrt{rn}` and the root mean square of the rn largest
            row norms. A step size computed from it never exceeds the theorem's limit.

        Notes
        -----
        FedRep, Theorem 1.
        """
        size = self._size(participants)
        if size < self.n and comb(self.n, size) <= SUBSETS_ENUMERATED:
            largest = max(values.max() for values in _subset_spectra(self.W, size))
            return float(largest / np.sqrt(size))
        bound = np.linalg.norm(self.W, 2) / np.sqrt(size)
        row_norms = np.sort(np.einsum("ia,ia->i", self.W, self.W))[-size:]
        return float(bound if size == self.n else min(bound, np.sqrt(row_norms.mean())))

    def sigma_min(self, participants: int | None = None) -> float:
        r"""Return the smallest singular value of W_I*/sqrt(rn) over subsets I of rn clients.

        Parameters
        ----------
        participants : int, optional
            Size rn of the subsets; all clients by default.

        Returns
        -------
        float
            Exact for all clients, for fewer than k (zero: they cannot span R^k), or where at most
            5000 subsets exist; otherwise an upper bound, the least value that a descent from many
            starts reaches.

        Notes
        -----
        FedRep, Assumption 2 and Theorem 1. The square is the minimum of
        :math:`\|W_I^* v\|^2/(rn)` over subsets I and unit vectors v. The descent minimizes in turn
        over I, the rn heads shortest along v, and over v.
        """
        size = self._size(participants)
        if size < self.k:
            return 0.0
        if comb(self.n, size) <= SUBSETS_ENUMERATED:
            smallest = min(values.min() for values in _subset_spectra(self.W, size))
        else:
            smallest = _least_spread(self.W, size)
        return float(smallest / np.sqrt(size))

    def _size(self, participants):
        if participants is None:
            return self.n
        return check.integer("participants", participants, minimum=1, maximum=self.n)

    def draw(
        self, m: int | ArrayLike, *, rng: RNGLike = None, clients: ArrayLike | None = None
    ) -> ClientData:
        """Draw samples for every client, one client after the other.

        Parameters
        ----------
        m : int or array_like of int, shape (n,)
            Samples per client, at least 1: one number for all, or one per client.
        rng : optional
            Anything `numpy.random.default_rng` takes.
        clients : array_like of int, optional
            Draw only for these clients, in this order; the result consists of them, and its truth
            has their heads.

        Returns
        -------
        ClientData
            With this truth attached.
        """
        if clients is not None:
            chosen = check.places("clients", clients, self.n)
            return self.with_heads(self.W[chosen]).draw(m, rng=rng)
        return draw_data(self, m, rng)

    def __repr__(self):
        return shown(self, "n", "d", "k")


class ImplicitRepresentation(SharedRepresentation):
    """Ground truth that stores only the heads and the dimension, for any d.

    The distribution of all metrics does not depend on which frame B* is: with Gaussian covariates
    and ``batches="gram"`` nothing of size d is needed.

    Parameters
    ----------
    W : array_like, shape (n, k)
        Heads; row i is client i's w_i*.
    d : int
        Ambient dimension, at least k.
    noise : float, default 0
        Standard deviation of the label noise.

    Raises
    ------
    ValueError
        If a value is out of range, and whenever B* itself is requested.
    """

    _d: int

    def __init__(self, W: ArrayLike, d: int, noise: float = 0.0):
        W = check.data("W", W, (None, None), copy=True)
        d = check.count("d", d, minimum=W.shape[1], most=check.WHOLE)
        keep(self, W=W, _d=d, noise=check.noise(noise), design="gaussian", degrees_of_freedom=5.0)

    @property
    def B(self) -> NoReturn:
        """Not stored."""
        raise ValueError("this truth stores no B*; run it with batches='gram' or 'gram_split'")

    @property
    def d(self) -> int:
        """Ambient dimension."""
        return self._d

    @property
    def k(self) -> int:
        """Rank of the representation."""
        return self.W.shape[1]

    def with_heads(self, W: ArrayLike) -> ImplicitRepresentation:
        """Return a truth of this kind for other clients.

        Parameters
        ----------
        W : array_like, shape (n, k)
            Heads of the other clients.
        """
        return ImplicitRepresentation(W, self.d, self.noise)


def _subset_spectra(W, size):
    """Yield the singular values of all row subsets, many subsets at a time."""
    subsets = combinations(range(len(W)), size)
    while some := list(islice(subsets, max(1, _ROWS_AT_ONCE // size))):
        yield np.linalg.svd(W[np.array(some)], compute_uv=False)


def _least_spread(W, size):
    """Return the least singular value among those of the row subsets that a descent comes to.

    Each descent starts from a direction orthogonal to k - 1 rows (as in least trimmed squares;
    Rousseeuw and Van Driessen, 2006). Which rows is drawn once and for all.
    """
    n, k = W.shape
    rng = np.random.default_rng(0)
    smallest, rows = np.inf, np.arange(size)
    for _ in range(_STARTS):
        few = W[rng.choice(n, k - 1, replace=False)]
        value, v = np.inf, np.linalg.svd(few)[2][-1]
        while True:
            subset = np.argpartition(np.abs(W @ v), size - 1)[:size]
            values, directions = np.linalg.eigh(W[subset].T @ W[subset])
            if not values[0] < value:
                break
            value, v = values[0], directions[:, 0]
            if value < smallest:
                smallest, rows = value, subset
    return np.linalg.norm(W[rows], -2)


def _draw_heads(n, k, heads, condition, rng):
    if heads == "sphere" and condition is None:
        W = rng.standard_normal((n, k))
        return W * (np.sqrt(k) / np.linalg.norm(W, axis=1, keepdims=True))
    if heads == "gaussian":
        return rng.standard_normal((n, k)) / np.sqrt(k)
    W = random_frame(n, k, rng)
    if condition is not None:
        spectrum = np.geomspace(condition, 1.0, k)
        W = W * (spectrum * np.sqrt(k) / np.linalg.norm(spectrum)) @ random_frame(k, k, rng).T
    if heads == "qr":
        return W
    if heads == "scaled_qr":
        return np.sqrt(k) * W
    length = np.sqrt(k) if heads == "sphere" else 1.0
    if condition is None:
        return W * (length / np.linalg.norm(W, axis=1, keepdims=True))
    return length * _equal_rows(W * np.sqrt(n / k))


def _equal_rows(W):
    """Rotate pairs of rows until all have norm 1, which keeps the singular values.

    The mean squared norm must be 1 already. Each rotation mixes a row that is too short with one
    that is too long and finishes one of them (Bendel and Mickey, 1978).
    """
    W = W.copy()
    norms, pair = np.einsum("ia,ia->i", W, W), np.empty((2, W.shape[1]))
    for _ in range(W.shape[0] - 1):
        i, j = norms.argmin(), norms.argmax()
        short, cross, long = float(norms[i]), float(W[i] @ W[j]), float(norms[j])
        if min(long - 1.0, 1.0 - short) < 1e-15:  # then so are all others, as the mean is 1
            break
        root = sqrt(cross**2 + (long - 1.0) * (1.0 - short))
        # The same root of a quadratic equation either way, without a difference of near equals.
        if cross > 0.0:
            tangent = (cross + root) / (long - 1.0)
        else:
            tangent = (1.0 - short) / (root - cross)
        cosine = 1.0 / np.hypot(1.0, tangent)
        sine = cosine * tangent
        pair[0], pair[1] = cosine * W[i] - sine * W[j], sine * W[i] + cosine * W[j]
        W[i], W[j] = pair
        norms[i], norms[j] = np.einsum("ia,ia->i", pair, pair)
    return W / np.linalg.norm(W, axis=1, keepdims=True)


checked(globals())
