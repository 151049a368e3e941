"""Completion with side information: client i's preferences M* z_i, observed entry by entry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.frozen import keep
from linrep.problems.random import RNGLike, stream
from linrep.problems.samples import shown
from linrep.problems.subspace import random_frame

Values = NDArray[np.float64]
Places = NDArray[np.int64]

#: Entries of a matrix that is formed rather than factorized.
_SMALL = 10_000
SIDES = ("gaussian", "unit", "isometric", "one-hot")


@dataclass(frozen=True, eq=False)
class SideInformationCompletion:
    r"""Ground truth of PerFedSI: a matrix of rank k whose columns side information predicts.

    .. math:: Y = M^\star Z^\top \in R^{d \times n}, \qquad
        M^\star = U^\star V^{\star\top} \in R^{d \times p}

    Parameters
    ----------
    U : array_like, shape (d, k)
        Items' factor.
    V : array_like, shape (p, k)
        Side information's factor.
    Z : array_like, shape (n, p)
        Side information; row i is client i's.
    noise : float, default 0
        Standard deviation of the noise on every observed entry.

    Raises
    ------
    ValueError
        If a value is out of range or not finite, or shapes do not fit.

    Notes
    -----
    PerFedSI, Section 3, where k is called r, p is k, n is M, and the factors U* and V*.
    """

    U: Values
    V: Values
    Z: Values
    noise: float = 0.0

    def __post_init__(self):
        U = check.data("U", self.U, (None, None), copy=True)
        V = check.data("V", self.V, (None, U.shape[1]), copy=True)
        Z = check.data("Z", self.Z, (None, V.shape[0]), copy=True)
        keep(self, U=U, V=V, Z=Z, noise=check.noise(self.noise))

    @classmethod
    def random(
        cls,
        *,
        n: int,
        d: int,
        p: int,
        k: int,
        side: str = "gaussian",
        singular_values: ArrayLike | None = None,
        condition: float = 1.0,
        noise: float = 0.0,
        rng: RNGLike = None,
    ) -> SideInformationCompletion:
        r"""Draw U* and V* uniform over frames, and side information.

        Parameters
        ----------
        n, d, p, k : int
            Clients, items, dimension of the side information, rank; k at most min(d, p).
        side : {"gaussian", "unit", "isometric", "one-hot"}
            Independent N(0, 1) entries of Z; the same with rows divided by their norms (PerFedSI,
            Appendix C.4); :math:`\sqrt n` times a frame, which needs p at most n; the identity,
            which carries no information and needs p = n.
        singular_values : array_like of length k, optional
            Of M*, positive; by default all 1. Each factor carries their square roots.
        condition : float, default 1
            Ratio of the largest and smallest singular value of Z, at least 1, for the isometric
            one only: geometrically spaced, their squares of mean n.
        noise : float, default 0
        rng : optional
            Anything `numpy.random.default_rng` takes.

        Returns
        -------
        SideInformationCompletion
        """
        n, d, p = (
            check.integer(name, value, minimum=1) for name, value in (("n", n), ("d", d), ("p", p))
        )
        k = check.integer("k", k, minimum=1, maximum=min(d, p))
        if singular_values is None:
            values = np.ones(k)
        else:
            values = check.array("singular_values", singular_values, (k,))
            if values.min() <= 0.0:
                raise ValueError(f"singular_values must be positive, got {values.min():g}")
        memory.require(
            "the factors and the side information", 3 * ((d + p) * k + n * p), n=n, d=d, p=p, k=k
        )
        rng = stream(rng, "truth")
        roots = np.sqrt(np.sort(values)[::-1])
        U, V = random_frame(d, k, rng) * roots, random_frame(p, k, rng) * roots
        return cls(U, V, draw_side_information(side, n, p, condition, rng), noise)

    @property
    def n(self) -> int:
        """Number of clients."""
        return self.Z.shape[0]

    @property
    def d(self) -> int:
        """Number of items."""
        return self.U.shape[0]

    @property
    def p(self) -> int:
        """Dimension of the side information."""
        return self.V.shape[0]

    @property
    def k(self) -> int:
        """Rank."""
        return self.U.shape[1]

    @property
    def M(self) -> Values:
        """The matrix M* = U* V*', shape (d, p)."""
        return self.U @ self.V.T

    @cached_property
    def singular_values(self) -> Values:
        """The k singular values of M*, largest first."""
        core = np.linalg.qr(self.U)[1] @ np.linalg.qr(self.V)[1].T
        return np.asarray(np.linalg.svd(core, compute_uv=False), dtype=np.float64)

    @cached_property
    def heads(self) -> Values:
        """The clients' heads, which side information determines: Z V*, shape (n, k)."""
        return self.Z @ self.V

    @cached_property
    def norm(self) -> float:
        r"""The Frobenius norm of the matrix :math:`M^\star Z^\top`."""
        return float(np.linalg.norm(np.linalg.qr(self.U)[1] @ np.linalg.qr(self.heads)[1].T))

    @cached_property
    def _matrix(self) -> Values:
        return self.U @ self.heads.T

    def deviation(self, U: ArrayLike, heads: ArrayLike) -> float:
        r"""Return :math:`\|U H^\top - M^\star Z^\top\|_F` of factors (d, j) and heads H (n, j).

        Accurate to rounding of the matrix, which is formed only where it is small: O((n + d)(k +
        j)^2).

        Parameters
        ----------
        U : array_like, shape (d, j)
        heads : array_like, shape (n, j)
            H, row i is client i's.
        """
        if np.shape(U) == (self.d, 0):  # nothing is left of a rank that a penalty has brought to 0
            U, heads = np.zeros((self.d, 1)), np.zeros((self.n, 1))
        U, H = check.array("U", U, (self.d, None)), check.array("heads", heads, (self.n, None))
        with np.errstate(over="ignore"):  # of a run that diverges
            return self._deviation(U, H)

    def _deviation(self, U, H):
        if self.d * self.n <= _SMALL:
            return float(np.linalg.norm(U @ H.T - self._matrix))
        left = np.linalg.qr(np.hstack([U, self.U]))[1]
        right = np.linalg.qr(np.hstack([H, -self.heads]))[1]
        return float(np.linalg.norm(left @ right.T))

    def entries(self, items: ArrayLike, clients: ArrayLike) -> Values:
        """Return the entries of Y at pairs of an item and a client, without noise.

        Parameters
        ----------
        items, clients : array_like of int, shape (entries,)
            Places from 0 to d - 1, and from 0 to n - 1.

        Raises
        ------
        ValueError
            If a place does not exist, or the lengths differ.
        """
        items = check.places("items", items, self.d)
        clients = check.places("clients", clients, self.n)
        if items.shape != clients.shape:
            raise ValueError(
                f"items and clients must have the same length, got {items.size} and {clients.size}"
            )
        return np.einsum("ej,ej->e", self.U[items], self.heads[clients])

    def observe(
        self, per_client: int | None = None, *, entries: int | None = None, rng: RNGLike = None
    ) -> Observations:
        """Draw the entries that are observed, without repetition.

        Parameters
        ----------
        per_client : int, optional
            Number of items of every client, drawn uniformly, at most d.
        entries : int, optional
            Instead: number of entries of Y, drawn uniformly.
        rng : optional
            Anything `numpy.random.default_rng` takes.

        Returns
        -------
        Observations
            With this truth attached; sorted by client, then by item.
        """
        rng = stream(rng, "data")
        if (per_client is None) == (entries is None):
            raise ValueError("per_client or entries must be given, and not both")
        if per_client is not None:
            size = check.integer("per_client", per_client, minimum=1, maximum=self.d)
            self._require_entries(self.n * size, n=self.n, per_client=size)
            items = np.concatenate([_sample(rng, self.d, size) for _ in range(self.n)])
            clients = np.repeat(np.arange(self.n), size)
        else:
            size = check.integer("entries", entries, minimum=1, maximum=self.n * self.d)
            self._require_entries(size, entries=size)
            clients, items = np.divmod(_sample(rng, self.n * self.d, size), self.d)
        values = self.entries(items, clients)
        values += self.noise * rng.standard_normal(values.size)
        return Observations(items, clients, values, self.Z, d=self.d, truth=self)

    def _require_entries(self, count, **sizes):
        """Raise unless there is room for entries, their places, and what sorting them takes."""
        memory.require("the entries", (8 + self.k) * count, **sizes)

    def without_side_information(self) -> SideInformationCompletion:
        """Return the truth with Z = I: the same matrix Y, and p = n."""
        return replace(self, V=self.heads, Z=np.eye(self.n))

    def __repr__(self):
        return shown(self, "n", "d", "p", "k")


@dataclass(frozen=True, eq=False)
class Observations:
    r"""Observed entries of a matrix, with side information on its rows and columns.

    Parameters
    ----------
    items, clients : array_like of int, shape (N,)
        Row and column of each entry; no pair twice.
    values : array_like, shape (N,)
        The observed values.
    Z : array_like, shape (n, p), optional
        Side information on the clients; by default none, which is the identity.
    A : array_like, shape (d, a), optional
        Side information on the items; by default none.
    n, d : int, optional
        Numbers of clients and items, if Z or A do not determine them; by default one more than the
        largest index.
    truth : SideInformationCompletion, optional
    rows : array_like of int, shape (N,), optional
        Place of each entry among the rows of the table that it comes from, by default its place
        among those given: entries are sorted by client, then by item, and keep it.

    Raises
    ------
    ValueError, TypeError
        If lengths do not fit, an index is out of range, or an entry is given twice.

    Notes
    -----
    The models are A M Z' with M of shape (a, p) and low rank: inductive matrix completion.
    """

    items: Places
    clients: Places
    values: Values
    Z: Values | None = None
    A: Values | None = None
    n: Any = None
    d: Any = None
    truth: SideInformationCompletion | None = None
    rows: Any = None

    def __post_init__(self):
        kept: dict[str, Any] = {}
        for name, table, of in (("n", "Z", "clients"), ("d", "A", "items")):
            size, rows = getattr(self, name), getattr(self, table)
            if rows is not None:
                kept[table] = rows = check.array(table, rows, (None, None), copy=True)
                if size is not None and size != len(rows):
                    raise ValueError(f"{name} must be the {len(rows)} rows of {table}, got {size}")
                kept[name] = len(rows)
            elif size is not None:
                kept[name] = check.integer(name, size, minimum=1)
            else:
                kept[name] = int(check.places(of, getattr(self, of), check.WHOLE).max()) + 1
        items = check.places("items", self.items, kept["d"])
        clients = check.places("clients", self.clients, kept["n"])
        values = check.labels("values", self.values, np.size(self.values))
        if not items.size == clients.size == values.size:
            raise ValueError(
                "items, clients and values must have the same length, got "
                f"{items.size}, {clients.size} and {values.size}"
            )
        order = np.lexsort((items, clients))
        rows = np.arange(order.size)
        if self.rows is not None:
            rows = check.places("rows", self.rows, check.WHOLE)
        if rows.size != order.size:
            raise ValueError(f"rows must have {order.size} entries, got {rows.size}")
        items, clients, values, rows = items[order], clients[order], values[order], rows[order]
        twice = (np.diff(items) == 0) & (np.diff(clients) == 0)
        if twice.any():
            place = int(np.argmax(twice))
            raise ValueError(
                f"the pair of item {items[place]} and client {clients[place]} is given twice"
            )
        keep(self, items=items, clients=clients, values=values, rows=rows, **kept)

    def __len__(self):
        return self.values.size

    def moderate(self, name: str) -> None:
        """Raise unless observations of this name are in units in which one can compute with them.

        Parameters
        ----------
        name : str
        """
        for part in ("values", "Z", "A"):
            if getattr(self, part) is not None:
                check.moderate(f"{part} of {name}", getattr(self, part))

    @property
    def per_item(self) -> Places:
        """Number of observed entries of each item, shape (d,)."""
        return np.bincount(self.items, minlength=self.d)

    @property
    def per_client(self) -> Places:
        """Number of observed entries of each client, shape (n,)."""
        return np.bincount(self.clients, minlength=self.n)

    @property
    def offsets(self) -> Places:
        """Where each client's entries begin and the last client's end, shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.per_client)])

    def degrees_of_freedom(self, rank: int) -> int:
        """Return the number of free parameters of a core of this rank, rank (a + p - rank).

        Parameters
        ----------
        rank : int
            From 1 to min(a, p).
        """
        a = self.d if self.A is None else self.A.shape[1]
        p = self.n if self.Z is None else self.Z.shape[1]
        rank = check.integer("rank", rank, minimum=1, maximum=min(a, p))
        return rank * (a + p - rank)

    def without_side_information(self) -> Observations:
        """Return the observed entries without the clients' and the items' side information."""
        return replace(self, Z=None, A=None)

    def split(self, held_out: float, *, rng: RNGLike = None) -> tuple[Observations, Observations]:
        """Return two disjoint parts, the second of about this share of the entries.

        Parameters
        ----------
        held_out : float
            Between 0 and 1, exclusive.
        rng : optional
            Anything `numpy.random.default_rng` takes.
        """
        share = check.real("held_out", held_out, above=0.0)
        size = round(share * len(self))
        if not 0 < size < len(self):
            raise ValueError(
                f"held_out must leave entries on both sides, got {held_out} of {len(self)}"
            )
        chosen = np.zeros(len(self), dtype=bool)
        chosen[_sample(stream(rng, "split"), len(self), size)] = True
        return self._where(~chosen), self._where(chosen)

    def _where(self, mask):
        entries = ("items", "clients", "values", "rows")
        return replace(self, **{name: getattr(self, name)[mask] for name in entries})

    def __repr__(self):
        sides = "".join(
            f", {name} with {table.shape[1]} columns"
            for name, table in (("A", self.A), ("Z", self.Z))
            if table is not None
        )
        return f"Observations({len(self)} of d={self.d} by n={self.n}{sides})"


def draw_side_information(side: str, n: int, p: int, condition: float, rng) -> Values:
    """Return side information Z (n, p); see :meth:`SideInformationCompletion.random`."""
    check.choice("side", side, SIDES)
    condition = check.real("condition", condition, minimum=1.0, maximum=check.LARGEST)
    if condition != 1.0 and side != "isometric":
        raise ValueError("condition must be 1 unless side='isometric'")
    if side == "isometric" and p > n:
        raise ValueError(f"p must be at most n = {n} for side='isometric', got {p}")
    if side == "one-hot" and p != n:
        raise ValueError(f"p must be n = {n} for side='one-hot', got {p}")
    if side == "one-hot":
        return np.eye(n)
    if side == "isometric":
        squares = condition ** np.linspace(2.0, 0.0, p) if p > 1 else np.ones(1)
        return random_frame(n, p, rng) * np.sqrt(n * squares / squares.mean())
    Z = rng.standard_normal((n, p))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True) if side == "unit" else Z


def _sample(rng, size, count):
    """Return distinct integers below size, sorted; memory is that of count where it can be."""
    return np.sort(rng.choice(size, count, replace=False, shuffle=False))


checked(globals())
