"""Low-rank regression: y = <phi_i, x> + noise, models of any rank, fitted with a smaller one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.frozen import keep
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike, stream
from linrep.problems.regression import SharedRepresentation
from linrep.problems.samples import DESIGNS, draw_data, shown
from linrep.problems.subspace import random_frame


@dataclass(frozen=True, eq=False)
class LowRankRegression:
    r"""Ground truth of FLUTE's linear setting: any matrix of models.

    .. math:: y_i = \langle \phi_i, x\rangle + \sigma \varepsilon

    Parameters
    ----------
    Phi : array_like, shape (d, n)
        Column i is client i's regression vector phi_i.
    noise : float, default 0
        Standard deviation sigma of the label noise (not its variance).
    design, degrees_of_freedom
        Distribution of the covariates, as for :class:`SharedRepresentation`.

    Raises
    ------
    ValueError
        If a value is out of range or not finite.

    Notes
    -----
    FLUTE, Section 3. The rank of Phi is not tied to that of the representation to be learned: with
    rank(Phi) > k no B w_i equals every phi_i, and the target is the best approximation of rank k,
    see :meth:`best`.
    """

    Phi: NDArray[np.float64]
    noise: float = 0.0
    design: str = "gaussian"
    degrees_of_freedom: float = 5.0

    def __post_init__(self):
        check.choice("design", self.design, DESIGNS)
        Phi, noise = check.data("Phi", self.Phi, (None, None), copy=True), check.noise(self.noise)
        freedom = check.real("degrees_of_freedom", self.degrees_of_freedom, above=2.0)
        keep(self, Phi=Phi, noise=noise, degrees_of_freedom=freedom)

    @classmethod
    def random(
        cls,
        *,
        n: int,
        d: int,
        singular_values: ArrayLike | None = None,
        per_client: bool = False,
        noise: float = 0.0,
        design: str = "gaussian",
        degrees_of_freedom: float = 5.0,
        rng: RNGLike = None,
    ) -> LowRankRegression:
        r"""Draw a matrix of models, of independent normal columns or of given singular values.

        Parameters
        ----------
        n, d : int
            Clients and dimension.
        singular_values : array_like, optional
            Of Phi, nonnegative, at most min(n, d) numbers; those not given are zero. Then
            :math:`\Phi = U \Lambda V^\top` with U and V uniform over frames (FLUTE, Appendix C.1).
            By default the columns are independent and N(0, I) (FLUTE, Section 7.1).
        per_client : bool, default False
            Let `singular_values` be those of :math:`\Phi/\sqrt n`: the mean of
            :math:`\|\phi_i\|^2` is the sum of their squares, whatever the number of clients.
        noise, design, degrees_of_freedom
            See the class.
        rng : optional
            Anything `numpy.random.default_rng` takes.

        Returns
        -------
        LowRankRegression
        """
        n = check.integer("n", n, minimum=1)
        d = check.integer("d", d, minimum=1)
        memory.require("the clients' models", 3 * n * d, n=n, d=d)
        rng = stream(rng, "truth")
        if singular_values is None:
            if per_client:
                raise ValueError("per_client needs singular_values: it says how to read them")
            return cls(rng.standard_normal((n, d)).T, noise, design, degrees_of_freedom)
        values = check.data("singular_values", singular_values, (None,))
        if values.size > min(n, d):
            raise ValueError(
                f"singular_values must be at most min(n, d) = {min(n, d)}, got {values.size}"
            )
        if values.min() < 0.0:
            raise ValueError(f"singular_values must be at least 0, got {values.min():g}")
        scale = np.sqrt(n) if per_client else 1.0
        U, V = random_frame(d, values.size, rng), random_frame(n, values.size, rng)
        return cls(U * (scale * values) @ V.T, noise, design, degrees_of_freedom)

    @property
    def n(self) -> int:
        """Number of clients."""
        return self.Phi.shape[1]

    @property
    def d(self) -> int:
        """Ambient dimension."""
        return self.Phi.shape[0]

    @property
    def theta(self) -> NDArray[np.float64]:
        """The clients' regression vectors as rows, the transpose of Phi, shape (n, d)."""
        return np.ascontiguousarray(self.Phi.T)

    @cached_property
    def svd(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The full decomposition: U (d, d), the min(n, d) singular values, V (n, n)."""
        U, singular_values, VT = np.linalg.svd(self.Phi)
        return U, singular_values, np.ascontiguousarray(VT.T)

    @cached_property
    def singular_values(self) -> NDArray[np.float64]:
        """The min(n, d) singular values of Phi, largest first."""
        return np.asarray(np.linalg.svd(self.Phi, compute_uv=False), dtype=np.float64)

    def gap(self, k: int) -> float:
        """Return Delta, twice the difference of singular values k and k + 1.

        The one after the last is taken to be 0.

        Parameters
        ----------
        k : int
            From 1 to min(n, d).

        Notes
        -----
        FLUTE, Section 5.
        """
        k = check.rank(k, self.n, self.d)
        return 2.0 * float(self.singular_values[k - 1] - np.append(self.singular_values, 0.0)[k])

    def best(self, k: int) -> BestModel:
        """Return the population optimum of rank k, the truncated decomposition of Phi.

        Parameters
        ----------
        k : int
            Rank of the representation, 1 <= k <= min(n, d).

        Returns
        -------
        BestModel
            Unique if and only if ``gap(k) > 0`` or k is at least the rank of Phi.

        Notes
        -----
        FLUTE, equation (3).
        """
        k = check.rank(k, self.n, self.d)
        U, singular_values, VT = np.linalg.svd(self.Phi, full_matrices=False)
        return BestModel(U[:, :k].copy(), singular_values[:k].copy(), VT[:k].T.copy(), self.gap(k))

    def representation(self, k: int) -> SharedRepresentation:
        """Return the population optimum of rank k as a truth: B* = U_k, heads V_k Lambda_k.

        What it is for: ``dataclasses.replace(data, truth=problem.representation(k))`` makes FedRep
        and its relatives, run on data drawn from `problem`, measure their distance to U_k.

        Parameters
        ----------
        k : int
            From 1 to min(n, d).
        """
        best = self.best(k)
        return SharedRepresentation(
            best.U, best.V * best.singular_values, self.noise, self.design, self.degrees_of_freedom
        )

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
            Draw for these clients only, in this order; the result's truth has their models.

        Returns
        -------
        ClientData
            With this truth attached. FedRep and its relatives take it as data without a truth of
            their kind; see :meth:`representation`.
        """
        if clients is not None:
            some = replace(self, Phi=self.Phi[:, check.places("clients", clients, self.n)])
            return some.draw(m, rng=rng)
        return draw_data(self, m, rng)

    def __repr__(self):
        return shown(self, "n", "d")


@dataclass(frozen=True, eq=False)
class BestModel:
    """The best approximation of rank k of a matrix of models, Phi_k = U diag(singular_values) V'.

    Attributes
    ----------
    U : ndarray, shape (d, k)
        Leading left singular vectors.
    singular_values : ndarray, shape (k,)
        Largest first.
    V : ndarray, shape (n, k)
        Leading right singular vectors.
    gap : float
        Delta, twice the difference of singular values k and k + 1.
    """

    U: NDArray[np.float64]
    singular_values: NDArray[np.float64]
    V: NDArray[np.float64]
    gap: float

    def __repr__(self):
        return show.line(self)

    @property
    def Phi(self) -> NDArray[np.float64]:
        """The approximation itself, shape (d, n)."""
        return self.B @ self.W.T

    @property
    def B(self) -> NDArray[np.float64]:
        """A representation (d, k) that is balanced with the heads W: B'B = W'W, and B W' = Phi."""
        return self.U * np.sqrt(self.singular_values)

    @property
    def W(self) -> NDArray[np.float64]:
        """Heads (n, k), see B."""
        return self.V * np.sqrt(self.singular_values)


checked(globals())
