"""Regression with a bias per client, which side information explains or does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.frozen import keep
from linrep.problems.clients import ClientData
from linrep.problems.completion import draw_side_information
from linrep.problems.random import RNGLike, stream
from linrep.problems.samples import DESIGNS, draw_samples, shown

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BiasedRegression:
    r"""Ground truth of PerFedSI's first model: one regression vector, and a bias per client.

    .. math:: y_i = \langle \theta, x\rangle + b_i + \sigma\varepsilon

    Parameters
    ----------
    theta : array_like, shape (d,)
        Regression vector of all clients.
    biases : array_like, shape (n,)
        b_i.
    Z : array_like, shape (n, p)
        Side information; row i is client i's.
    noise : float, default 0
        Standard deviation sigma of the label noise.
    design : str, default "gaussian"
        Distribution of the covariates, as for :class:`SharedRepresentation`.

    Raises
    ------
    ValueError
        If a value is out of range or not finite, or shapes do not fit.

    Notes
    -----
    PerFedSI, Appendix B, equation (7).
    """

    theta: Values
    biases: Values
    Z: Values
    noise: float = 0.0
    design: str = "gaussian"

    def __post_init__(self):
        biases = check.data("biases", self.biases, (None,), copy=True)
        check.choice("design", self.design, DESIGNS)
        theta = check.data("theta", self.theta, (None,), copy=True)
        Z = check.data("Z", self.Z, (len(biases), None), copy=True)
        keep(self, theta=theta, biases=biases, Z=Z, noise=check.noise(self.noise))

    @classmethod
    def random(
        cls,
        *,
        n: int,
        d: int,
        p: int,
        side: str = "gaussian",
        spread: float = 1.0,
        explained: float = 1.0,
        noise: float = 0.0,
        design: str = "gaussian",
        rng: RNGLike = None,
    ) -> BiasedRegression:
        """Draw a regression vector of length 1, side information, and biases.

        Parameters
        ----------
        n, d, p : int
            Clients, dimension of the covariates and of the side information.
        side : {"gaussian", "unit", "isometric", "one-hot"}
            As for :meth:`SideInformationCompletion.random`.
        spread : float, default 1
            Root mean square of the biases.
        explained : float, default 1
            Share of their mean square that is linear in the side information; the rest is
            orthogonal to it, for which n > p.
        noise, design
            As for the class.
        rng : optional
            Anything `numpy.random.default_rng` takes.
        """
        n, d, p = (
            check.integer(name, value, minimum=1) for name, value in (("n", n), ("d", d), ("p", p))
        )
        spread = check.real("spread", spread, minimum=0.0, maximum=check.LARGEST)
        explained = float(check.numbers("explained", explained, minimum=0.0, maximum=1.0))
        if explained < 1.0 and n <= p:
            raise ValueError(f"explained must be 1 unless n > p, got n = {n} and p = {p}")
        memory.require("the side information", 3 * n * (p + 2) + d, n=n, d=d, p=p)
        rng = stream(rng, "truth")
        theta = rng.standard_normal(d)
        Z = draw_side_information(side, n, p, 1.0, rng)
        linear, other = Z @ rng.standard_normal(p), rng.standard_normal(n)
        other -= Z @ np.linalg.lstsq(Z, other, rcond=None)[0]
        biases = sum(
            spread * np.sqrt(share / np.mean(part**2)) * part
            for share, part in ((explained, linear), (1.0 - explained, other))
            if share > 0.0
        )
        return cls(theta / np.linalg.norm(theta), biases, Z, noise, design)

    @property
    def n(self) -> int:
        """Number of clients."""
        return len(self.biases)

    @property
    def d(self) -> int:
        """Dimension of the covariates."""
        return len(self.theta)

    @property
    def p(self) -> int:
        """Dimension of the side information."""
        return self.Z.shape[1]

    def draw(self, m: int | ArrayLike, *, rng: RNGLike = None) -> ClientData:
        """Draw samples.

        Parameters
        ----------
        m : int or array_like of int, shape (n,)
            Samples per client, at least 1.
        rng : optional
            Anything `numpy.random.default_rng` takes.

        Returns
        -------
        ClientData
            With this truth attached.
        """
        X, y, offsets = draw_samples(
            np.tile(self.theta, (self.n, 1)), m, noise=self.noise, design=self.design, rng=rng
        )
        y += np.repeat(self.biases, np.diff(offsets))
        return ClientData._keeping(X=X, y=y, offsets=offsets, truth=self)

    def excess_risks(self, theta: ArrayLike, biases: ArrayLike) -> Values:
        r"""Return :math:`\frac12\|\theta_i - \theta\|^2 + \frac12(b_i' - b_i)^2` of every client.

        Parameters
        ----------
        theta : array_like, shape (d,) or (n, d)
            One vector for all, or one per client.
        biases : array_like, shape (n,)
        """
        theta = check.array("theta", theta, None)
        if theta.shape[-1:] != (self.d,):
            raise ValueError(f"theta must have shape (..., {self.d}), got {theta.shape}")
        error = theta - self.theta
        other = check.array("biases", biases, (self.n,)) - self.biases
        with np.errstate(over="ignore"):  # of a run that diverges
            return 0.5 * (np.sum(error**2, axis=-1) + other**2)

    def __repr__(self):
        return shown(self, "n", "d", "p")


checked(globals())
