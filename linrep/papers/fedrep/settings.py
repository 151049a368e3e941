"""FedRep's synthetic figures: sizes, conventions, methods, step sizes, and what is run of them.

Two conventions are in use:

- *text*: heads sqrt(k) times a Q factor, noise of variance 1e-3, gradients averaged, QR after each
  step, the theorem's step size 1/(4 sigma_max^2) or multiples of it, head steps of 1/lambda_max;
- *published*, the authors' notebook (``FedRep_linear_sims.ipynb``, the cell of Figure 3): heads a
  Q factor, noise of standard deviation sqrt(5) 1e-3, gradients summed, no QR, step sizes of its
  own for each method and n, a start of its own, and first heads that methods share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linrep as lr
from linrep._lib import validation as check
from linrep.figures.sizes import Sizes, size
from linrep.problems import ClientData
from linrep.problems.random import RNGLike, stream

Array = NDArray[np.float64]
CONVENTIONS: Mapping[str, Mapping[str, Any]] = {
    "text": {"heads": "scaled_qr", "noise": 1e-3**0.5},
    # The notebook divides covariates by sqrt(m), m = 5, and not its noise of 1e-3: with covariates
    # of covariance I, as here, the noise is sqrt(5) times as large.
    "published": {"heads": "qr", "noise": 5**0.5 * 1e-3},
}
#: The appendix's heads, and those of the notebook's cell of Figure 1; 1e-3 as variance, as printed,
#: and as standard deviation, as in the notebook.
DATA: Mapping[str, Mapping[str, Any]] = {
    f"{words} heads, noise of {kind} 1e-3": {"heads": heads, "noise": noise}
    for heads, words in {"scaled_qr": "A.1's", "unit_rows": "the notebook's"}.items()
    for kind, noise in {"variance": 1e-3**0.5, "standard deviation": 1e-3}.items()
}
#: What is left of the zero model's error where a share of models is explained.
LEFT = {"50 %": 0.5, "90 %": 0.1, "99 %": 0.01}
#: Head steps per round; None is the exact head.
METHODS = {"FedRep": None, "10GD-GD": 10, "GD-GD": 1}
#: Of the notebook, by n, for d = 10, k = 2, m = 5. That of 10GD-GD is for its heads alone.
PUBLISHED_STEPS: Mapping[int, Mapping[str, float]] = {
    10: {"FedRep": 0.4, "10GD-GD": 0.01, "GD-GD": 0.12},
    100: {"FedRep": 4.0, "10GD-GD": 0.4, "GD-GD": 0.75},
    1000: {"FedRep": 60.0, "10GD-GD": 0.25, "GD-GD": 1.0},
}
#: Rounds of the notebook.
PUBLISHED_ROUNDS = 200
#: Distance to which rounds are counted as published.
PUBLISHED_GOAL = 0.03
#: Step size of FedSGD, which is not given.
FEDSGD_STEP = 0.1


def notebook(n: int, method: str) -> dict[str, Any]:
    """Return the options of the published notebook.

    Parameters
    ----------
    n : int
        Of `PUBLISHED_STEPS`.
    method : str
        Of `METHODS`.

    Raises
    ------
    ValueError
        If the notebook has no such n.
    """
    if n not in PUBLISHED_STEPS:
        raise ValueError(f"n must be one of {', '.join(map(str, PUBLISHED_STEPS))}, got {n}")
    steps = PUBLISHED_STEPS[n]
    exact = METHODS[method] is None
    return {
        # 10GD-GD moves the representation as GD-GD does.
        "step_size": steps["FedRep" if exact else "GD-GD"],
        "head_step_size": None if exact else steps[method],
        "normalization": "published",
        "orthonormal": False,
    }


def notebook_start(data: ClientData, k: int, rng: RNGLike = None) -> tuple[Array, Array]:
    r"""Return the start of the published notebook.

    Ten rounds of projected gradient descent with step size 0.1 from a normal matrix. In place of
    its leading right singular vectors, the first k rows of V', the notebook takes the first k
    columns of V', in every projection and at the end; and of the singular values it keeps none.
    At the end the matrix has rank k, so that all rows of B but the first k are of a basis of its
    null space, whose choice is rounding's.

    Parameters
    ----------
    data : ClientData
        Clients with equally many samples.
    k : int
        Rank, 1 <= k <= min(n, d).
    rng : optional
        Anything `numpy.random.default_rng` takes, for the normal matrix.

    Returns
    -------
    B : ndarray, shape (d, k)
    W : ndarray, shape (n, k)
        Both with orthonormal columns.

    Raises
    ------
    ValueError
        If clients have different numbers of samples.
    """
    if np.ptp(data.m):
        raise ValueError(
            f"data must have equally many samples for each client, got {data.m.min()} to "
            f"{data.m.max()}"
        )
    X, y = data.X.reshape(data.n, -1, data.d), data.y.reshape(data.n, -1)
    theta = _by_columns(stream(rng, "start").standard_normal((data.n, data.d)), k)
    for _ in range(10):
        residual = (X @ theta[..., None])[..., 0] - y
        theta -= 0.1 / y.shape[1] * (residual[:, None] @ X)[:, 0]
        theta = _by_columns(theta, k)
    U, _, VT = _full_svd(theta)
    return np.ascontiguousarray(VT[:, :k]), np.ascontiguousarray(U[:, :k])


def _full_svd(theta):
    """Return U, singular values and V', which is square for any shape of theta."""
    return np.linalg.svd(theta, full_matrices=theta.shape[0] < theta.shape[1])


def _by_columns(theta, k):
    """Return what the notebook takes for the nearest matrix of rank k."""
    U, sizes, VT = _full_svd(theta)
    return U[:, :k] * sizes[:k] @ VT[:, :k].T


def draw_problem(
    figure: Any, seed: int, *, n: int | None = None, m: int | None = None, **options: Any
) -> tuple[lr.SharedRepresentation, ClientData]:
    """Return a truth with a figure's sizes, or other n and m, and samples of it.

    Parameters
    ----------
    figure : Sizes
    seed, n, m : int
        Problems of one seed and other n or m are independent.
    **options
        Of the truth, such as `CONVENTIONS`.
    """
    n, m = n or figure.n, m or figure.m
    rng = np.random.default_rng([seed, n, m])
    truth = lr.SharedRepresentation.random(n=n, d=figure.d, k=figure.k, rng=rng, **options)
    return truth, truth.draw(m, rng=rng)


def models_on(B: Array, data: ClientData) -> Array:
    """Return clients' models on a representation, with heads fitted to their samples."""
    return lr.fit_heads(data, B) @ B.T


def squared_errors(theta: Array, truth: lr.SharedRepresentation) -> Array:
    """Return each client's mean squared error on noise-free test data."""
    return np.sum((theta - truth.theta) ** 2, axis=1)


def risk(theta: Array, truth: lr.SharedRepresentation) -> float:
    """Return half the mean squared error on noise-free test data."""
    return 0.5 * float(np.mean(squared_errors(theta, truth)))


def _ranks(sizes):
    """Refuse a k beyond d or a number of clients."""
    for name in ("d", "n"):
        least = min(np.atleast_1d(getattr(sizes, name)))
        if sizes.k > least:
            raise ValueError(f"k must be at most {name} = {least}, got {sizes.k}")


@dataclass(frozen=True)
class Figure1(Sizes):
    """Figure 1: test error against samples per client."""

    n: int = size(100, "Clients.")
    m: tuple[int, ...] = size(
        (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 22, 25, 30),
        "Samples per client: the points of the curves.",
        quick=(5, 10, 20),
    )
    d: int = size(20, "Dimension.")
    k: int = size(2, "Rank of the representation.")
    rounds: int = size(500, "Rounds of FedRep and FedSGD.")

    check = _ranks

    def fedrep(self, data: ClientData, seed: int) -> Array:
        """Return the clients' models after FedRep's rounds."""
        trace = lr.fedrep(data, k=self.k, rounds=self.rounds, start="projected_gradient", rng=seed)
        return models_on(trace.state["B"], data)


@dataclass(frozen=True)
class Figure3(Sizes):
    """Figure 3: rounds for different numbers of clients."""

    n: tuple[int, ...] = size(
        (10, 20, 100, 1000), "Clients: a column each.", quick=(10, 100), most=6
    )
    d: int = size(10, "Dimension.")
    k: int = size(2, "Rank of the representation.")
    m: int = size(5, "Samples per client.")
    participation: float = size(0.1, "Share of the clients in a round, r.", above=0.0, maximum=1.0)
    rounds: int = size(500, "Rounds.", minimum=2)

    def check(self) -> None:
        """Refuse a rank beyond the sizes, and rounds without a client."""
        _ranks(self)
        least = min(self.n)
        if self.participation * least < 1.0 - 1e-9:
            raise ValueError(
                f"participation must be at least 1/n = {1 / least:g} for n = {least}, "
                f"got {self.participation:g}"
            )

    def remarks(self) -> list[str]:
        """Say which of the notebook's panels are drawn, and to which distance rounds count."""
        known = ", ".join(map(str, PUBLISHED_STEPS))
        drawn = "show these only" if set(self.n) & set(PUBLISHED_STEPS) else "are left out"
        return [
            f"the notebook has step sizes only for n = {known}, at d = 10, k = 2, m = 5, r = 0.1; "
            f"the panels as published {drawn}",
            "rounds are counted to the distance in the column goal: halfway in logarithms between "
            "FedRep's median distances at the start and at the end",
        ]

    def options(self, convention: str, n: int, method: str) -> dict[str, Any]:
        """Return the options of a method's run.

        Parameters
        ----------
        convention : {"text", "published"}
        n : int
        method : str
            Of `METHODS`.
        """
        check.choice("convention", convention, CONVENTIONS)
        return {
            "k": self.k,
            "participation": self.participation,
            "local_steps": METHODS[method],
            **(notebook(n, method) if convention == "published" else {}),
        }


@dataclass(frozen=True)
class Figure4(Sizes):
    """Figure 4: test error of new clients."""

    n: int = size(100, "Clients that take part in training.")
    m: int = size(10, "Samples of each of them.")
    d: int = size(20, "Dimension.")
    k: int = size(2, "Rank of the representation.")
    rounds: int = size(500, "Rounds of FedRep and FedSGD.")
    m_new: tuple[int, ...] = size(
        (1, 2, 3, 4, 5, 7, 10, 15, 18, 20, 22, 25, 30, 40),
        "Samples of a new client: the points of the curves.",
    )
    new: int = size(50, "New clients per replicate.")

    check = _ranks

    def fedrep(self, data: ClientData, start: tuple[Array, Array], seed: int) -> Array:
        """Return FedRep's representation."""
        trace = lr.fedrep(data, k=self.k, rounds=self.rounds, start=start, rng=seed)
        return trace.state["B"]


@dataclass(frozen=True)
class Figure7(Sizes):
    """Figure 7: what FedRep gains over GD-GD, with all clients in every round."""

    n: tuple[int, ...] = size(
        (10, 30, 100, 300), "Clients: a column each.", quick=(10, 100), most=6
    )
    m: tuple[int, ...] = size((5, 10), "Samples per client: a row each.", most=6)
    d: int = size(10, "Dimension.")
    k: int = size(2, "Rank of the representation.")
    rounds: int = size(300, "Rounds.")

    check = _ranks
    methods = ("FedRep", "GD-GD")

    def options(self, method: str) -> dict[str, Any]:
        """Return the options of a method's run.

        Parameters
        ----------
        method : str
            Of `methods`.
        """
        return {"k": self.k, "local_steps": METHODS[method]}
