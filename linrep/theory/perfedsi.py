r"""PerFedSI's theory for completion with side information: assumptions, regularity, and bounds.

With E = U V' - M*, the loss is :math:`L = \frac1{2n}\|E Z^\top\|_F^2`, equation (10), and that of
a client :math:`L_i = \frac12\|E z_i\|^2`. The paper's k is p here, its r is k, and its M is n. Its
constants c, c_0 and mu are never said to be at least 1; functions take them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.completion import Observations, SideInformationCompletion

Values = NDArray[np.float64]
_ROUNDING = 1e-28  # of a squared singular value, relative to the largest


@dataclass(frozen=True)
class Setting:
    """The numbers that the statements are about.

    Parameters
    ----------
    d, p, k : int
        Items, dimension of the side information, rank.
    largest, smallest : float
        The largest and the k-th singular value of M*.
    c, mu, c_z : float
        Constants of the regularity (Definition 3.1) and of Assumption 3.2, mu the largest of the
        incoherences of side information, U and errors.
    mu_z : float, optional
        That of the side information alone, mu by default.
    """

    d: int
    p: int
    k: int
    largest: float = 1.0
    smallest: float = 1.0
    c: float = 1.0
    mu: float = 1.0
    c_z: float = 1.0
    mu_z: float | None = None

    def __post_init__(self):
        for name in ("d", "p", "k"):
            check.integer(name, getattr(self, name), minimum=1)
        for name in ("largest", "smallest", "c", "mu", "c_z"):
            check.real(name, getattr(self, name), above=0.0)
        if self.mu_z is not None:
            check.real("mu_z", self.mu_z, above=0.0)

    @classmethod
    def of(cls, truth: SideInformationCompletion, *, c: float, mu: float) -> Setting:
        """Return that of a ground truth, with the c_z and mu_z its side information has.

        Parameters
        ----------
        truth : SideInformationCompletion
        c, mu : float
            Positive; see :class:`Setting`.
        """
        values, side = truth.singular_values, scaling(truth.Z)
        return cls(
            truth.d, truth.p, truth.k, float(values[0]), float(values[-1]), c, mu, side.c_z,
            side.mu_z,
        )  # fmt: skip


class Scaling(NamedTuple):
    """The least constants, at least 1, with which side information satisfies Assumption 3.2.

    Attributes
    ----------
    c_z, mu_z : float
        Of the Gram matrix's eigenvalues, possibly infinite, and of the rows' squared norms.
    """

    c_z: float
    mu_z: float


def scaling(Z: ArrayLike) -> Scaling:
    r"""Return the least constants with which side information satisfies Assumption 3.2.

    :math:`\frac{n}{c_z} I \preceq Z^\top Z \preceq c_z n I` and
    :math:`\max_i \|z_i\|^2 \le \mu_z p`; c_z is infinite where Z has dependent columns.

    Parameters
    ----------
    Z : array_like, shape (n, p)
        Side information, row i is client i's.
    """
    Z = check.array("Z", Z, (None, None))
    n, p = Z.shape
    squares = np.linalg.svd(Z, compute_uv=False) ** 2 / n
    dependent = n < p or squares[-1] <= _ROUNDING * squares[0]
    c_z = max(1.0, float(squares[0]), np.inf if dependent else 1.0 / float(squares[-1]))
    return Scaling(c_z, max(1.0, float(np.max(np.sum(Z**2, axis=1))) / p))


def incoherence(A: ArrayLike) -> float:
    r"""Return the least mu with :math:`\|e_i^\top A\| \le \sqrt{\mu r/d}\,\|A\|_2` for all rows.

    Parameters
    ----------
    A : array_like, shape (d, r)

    Returns
    -------
    float
        Between 1/r and d/r: the largest squared row norm is at least the mean,
        :math:`\|A\|_F^2/d`, and at most :math:`\|A\|_2^2`. Zero for A = 0.

    Notes
    -----
    PerFedSI, Definition C.3.
    """
    A = check.array("A", A, (None, None))
    d, r = A.shape
    A = A / (np.abs(A).max() or 1.0)  # whose squares do not underflow
    size = np.linalg.norm(A, 2)
    if size == 0.0:
        return 0.0
    return float(np.max(np.sum(A**2, axis=1)) * d / (r * size**2))


class Regularity(NamedTuple):
    """The least constants with which a local iterate satisfies Definition 3.1; arrays for many.

    Attributes
    ----------
    norms : float
        c of max(||U||, ||V||) <= c sqrt(sigma_1).
    loss : float
        c of L_i(U_i, V_i) <= c min(L(U, V), c_0 sigma_k^2), the largest over the clients.
    rows : float
        mu of ||e_i' U|| <= sqrt(mu k sigma_1/d), reading the printed tau as the rank.
    errors : float
        mu of ``|e_i' E z|`` <= sqrt(mu/d) ||E z||, the largest over the clients; at most d.
    """

    norms: Any
    loss: Any
    rows: Any
    errors: Any

    def __repr__(self):
        return show.line(self)

    def worst(self) -> Regularity:
        """Return the largest over the clients, the last axis."""
        return Regularity(*(np.max(values, axis=-1) for values in self))


def regularity(
    truth: SideInformationCompletion, U: ArrayLike, V: ArrayLike, *, loss: float, c_0: float = 1.0
) -> Regularity:
    """Return the least constants with which local iterates satisfy Definition 3.1.

    Parameters
    ----------
    truth : SideInformationCompletion
    U, V : array_like, shape (n, d, k), (n, p, k)
        Every client's.
    loss : float
        L at the round's start.
    c_0 : float, default 1
    """
    n, d, k = truth.n, truth.d, truth.k
    U = check.array("U", U, (n, d, k))
    V = check.array("V", V, (n, truth.p, k))
    of_truth = truth.U, truth.V, truth.Z, truth.singular_values
    worst = local_regularity(*of_truth, U, V, loss=loss, c_0=c_0).worst()
    return Regularity(*(float(value) for value in worst))


def local_regularity(
    star_U: Values, star_V: Values, Z: Values, values: Values, U: Values, V: Values, *,
    loss: ArrayLike, c_0: float = 1.0,
) -> Regularity:  # fmt: skip
    """Return `regularity` of every client, shape (..., n); arrays may have further axes in front.

    Parameters
    ----------
    star_U, star_V, Z, values : ndarray, shape (..., d, k), (..., p, k), (..., n, p), (..., k)
        Of the truths: U*, V*, the side information, the singular values of M*.
    U, V : ndarray, shape (..., n, d, k), (..., n, p, k)
    loss : array_like, shape (...)
    c_0 : float, default 1
    """
    given: list[Any] = [np.asarray(each) for each in (star_U, star_V, Z, values, U, V)]
    try:
        return _regularity(*given, loss=loss, c_0=c_0)
    except (ValueError, IndexError):
        raise ValueError(
            "star_U, star_V, Z, values, U and V must have shapes that fit, got "
            f"{', '.join(str(each.shape) for each in given)}"
        ) from None


def _regularity(star_U, star_V, Z, values, U, V, *, loss, c_0):
    d, k = star_U.shape[-2:]
    top = values[..., :1]
    with np.errstate(all="ignore"):  # iterates that run away ask for infinite constants
        heads = np.einsum("...np,...npk->...nk", Z, V)
        errors = (U @ heads[..., None])[..., 0] - Z @ star_V @ np.swapaxes(star_U, -1, -2)
        squares = np.sum(errors**2, axis=-1)
        largest = np.max(errors**2, axis=-1)
        sizes = np.maximum(*(_largest_singular_value(A) for A in (U, V)))
        limit = np.minimum(loss, c_0 * values[..., -1] ** 2)[..., None]
        return Regularity(
            norms=sizes / np.sqrt(top),
            loss=np.where(limit > 0.0, 0.5 * squares / limit, np.inf),
            rows=np.max(np.sum(U**2, axis=-1), axis=-1) * d / (k * top),
            errors=np.where(squares > 0.0, d * largest / squares, 0.0),
        )


def _largest_singular_value(A):
    """Return ||A||_2 of tall matrices (..., d, k), from k by k ones."""
    gram = np.swapaxes(A, -1, -2) @ A
    largest = gram[..., 0, 0] if A.shape[-1] == 1 else np.linalg.eigvalsh(gram)[..., -1]
    return np.sqrt(largest.clip(min=0.0))


def norm_floor(c: ArrayLike, share: ArrayLike) -> Values:
    r"""Return the least norm that Definition 3.1 leaves to U and to V, over sqrt(sigma_1).

    :math:`(1 - \sqrt{s})/c` where :math:`s = 2 c_z c c_0 < 1`: as all L_i are at most
    :math:`c c_0 \sigma_k^2`, so is L, hence :math:`\|UV^\top - M^\star\| \le \sqrt{2 c_z L}
    \le \sqrt s \sigma_k`, while :math:`\|UV^\top\| \le \|U\| c\sqrt{\sigma_1}`. For iterates that
    all clients share, the server's: L_i of a client's own iterate says nothing about others' z.
    Derived here.

    Parameters
    ----------
    c : array_like
        Of Definition 3.1, positive.
    share : array_like
        s, in [0, 1).
    """
    share = check.numbers("share", share, minimum=0.0, maximum=1.0)
    return (1.0 - np.sqrt(share)) / check.numbers("c", c, above=0.0)


def loss_and_gradients(
    truth: SideInformationCompletion, U: ArrayLike, V: ArrayLike
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return L of (10) and its gradients.

    Parameters
    ----------
    truth : SideInformationCompletion
    U : array_like, shape (d, k)
    V : array_like, shape (p, k)

    Returns
    -------
    loss : float
    in_U : ndarray, shape (d, k)
    in_V : ndarray, shape (p, k)
    """
    U, V = check.array("U", U, (truth.d, None)), check.array("V", V, (truth.p, None))
    error = U @ V.T - truth.M
    moment = truth.Z.T @ truth.Z / truth.n
    loss = 0.5 * float(np.vdot(error @ moment, error))
    return loss, error @ moment @ V, moment @ error.T @ U


def expected_step(
    truth: SideInformationCompletion, U: ArrayLike, V: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean over items and clients of (11)'s and (12)'s gradients, 1/d times L's.

    Parameters
    ----------
    truth, U, V
        As in :func:`loss_and_gradients`.

    Returns
    -------
    in_U : ndarray, shape (d, k)
    in_V : ndarray, shape (p, k)
    """
    _, in_U, in_V = loss_and_gradients(truth, U, V)
    return in_U / truth.d, in_V / truth.d


def determines_truth(observations: Observations) -> bool:
    r"""Tell whether entries determine the truth among the matrices of its rank near it.

    The differential of (U, V) -> entries of :math:`U V^\top Z^\top` must have the rank of the
    degrees of freedom, k(d + p - k), at the truth. If it has, the truth is isolated; an item with
    fewer than k entries rules it out. Without side information it is the local completability of
    Singer and Cucuringu, *Uniqueness of low-rank matrix completion by rigidity theory*, 2010.

    Parameters
    ----------
    observations : Observations
        Of a known truth, without side information on items; Z is the truth's, or none.
    """
    truth, items, clients = observations.truth, observations.items, observations.clients
    if truth is None or observations.A is not None:
        raise ValueError("observations must have a truth, and no side information on items (A)")
    Z = np.eye(truth.n) if observations.Z is None else observations.Z
    every, N = np.arange(len(items)), len(items)
    in_U = np.zeros((N, truth.d, truth.k))
    in_U[every, items] = (truth.Z @ truth.V)[clients]
    in_V = np.einsum("ep,ek->epk", Z[clients], truth.U[items])
    rank = np.linalg.matrix_rank(np.hstack([in_U.reshape(N, -1), in_V.reshape(N, -1)]))
    return bool(rank == observations.degrees_of_freedom(truth.k))


# Lemmas. Each returns the right-hand side, or the constant in it.


def pl_constant(setting: Setting, *, c_z_power: float = 2.0) -> float:
    """Return gamma of Lemma C.5, for which ||grad L||^2 >= gamma L is stated.

    Lemma C.11 and Theorem C.4 have c_z to the third power.

    Parameters
    ----------
    setting : Setting
    c_z_power : float, default 2
        Power of c_z in the denominator.
    """
    return setting.smallest / (setting.c * setting.c_z**c_z_power)


def pl_constant_near(setting: Setting, *, power: float = 2.0) -> float:
    r"""Return a constant g for which ||grad L||^2 >= g L near M*.

    :math:`g = \frac98\sigma_k^2/(c_z c^2 \sigma_1)` where ||U||, ||V|| <= c sqrt(sigma_1) and
    :math:`L \le \sigma_k^2/(32 c_z)`; derived in the proofs of PerFedSI's
    statements (`perfedsi.lemmaC5.corrected`).

    Parameters
    ----------
    setting : Setting
    power : float, default 2
        That of c.
    """
    s = setting
    return 1.125 * s.smallest**2 / (s.c_z * s.c**power * s.largest)


class Alignment(NamedTuple):
    """What (20) bounds the gradient by: squares of smallest singular values.

    Attributes
    ----------
    heads, side, items : float
        Those of Y*'ZV, of Z, and of U*'U.
    """

    heads: float
    side: float
    items: float


def alignment(truth: SideInformationCompletion, U: ArrayLike, V: ArrayLike) -> Alignment:
    r"""Return (20)'s smallest squared singular values of Y*'ZV, of Z, and of U*'U.

    Y* and U* are orthonormal here: the right singular vectors of M* Z', the left ones of M*.

    Parameters
    ----------
    truth : SideInformationCompletion
    U : array_like, shape (d, k)
    V : array_like, shape (p, k)
    """
    U, V = check.array("U", U, (truth.d, None)), check.array("V", V, (truth.p, None))
    Y, _ = np.linalg.qr(truth.Z @ truth.V)
    basis, _ = np.linalg.qr(truth.U)
    return Alignment(
        *(
            float(np.linalg.svd(A, compute_uv=False)[-1]) ** 2
            for A in (Y.T @ truth.Z @ V, truth.Z, basis.T @ U)
        )
    )


def smoothness_sharp(setting: Setting) -> float:
    r"""Return :math:`c_z\sigma_1(3c^2 + 1)`, the least Lipschitz constant of the gradient.

    Over ||U||, ||V|| <= c sqrt(sigma_1), a convex set, and all M* and Z of these sigma_1 and c_z.
    With S = Z'Z/n the derivative along (A, B) is :math:`A V^\top S V + U B^\top S V + E S B` and
    its mirror image, so that it is bounded by the norm of the matrix with c^2 on the diagonal and
    2 c^2 + 1 off it; u = v = c, M* = -1 attains it. Derived here; Lemma C.6 has beta/sqrt(2).

    Parameters
    ----------
    setting : Setting
    """
    s = setting
    return s.c_z * s.largest * (3.0 * s.c**2 + 1.0)


def smoothness(setting: Setting, *, factor: float = 32.0, constant: float = 4.0) -> float:
    """Return beta of Lemma C.6: beta^2 = c_z^2 (32 c^4 + 4) sigma_1^2.

    Parameters
    ----------
    setting : Setting
    factor, constant : float, default 32 and 4
        The numbers under the root.
    """
    factor = check.real("factor", factor, minimum=0.0)
    constant = check.real("constant", constant, minimum=0.0)
    return setting.c_z * setting.largest * float(np.sqrt(factor * setting.c**4 + constant))


def second_moments(
    setting: Setting, *, step_size: ArrayLike, local_steps: ArrayLike, participants: ArrayLike,
    loss: ArrayLike, mu_z: float | None = None, mu_U: float | None = None, factor: float = 1.0,
    norm_power: float = 1.0, loss_power: float = 0.0,
) -> tuple[Values, Values]:  # fmt: skip
    """Return Lemma C.7's bounds on E||U+ - U||^2 and E||V+ - V||^2.

    What its proof gives has factor 2, as ||E z||^2 is twice a client's loss, c^2 from the norms and
    another c from the losses.

    Parameters
    ----------
    setting : Setting
    step_size, local_steps, participants : array_like
        eta, tau and C, clients per round.
    loss : array_like
        L at the round's start.
    mu_z, mu_U : float, optional
        Incoherence of side information and of U; by default the setting's mu.
    factor : float, default 1
        In front.
    norm_power, loss_power : float, default 1 and 0
        Powers of c from the norms, and from the losses.
    """
    s = setting
    participants = check.numbers("participants", participants, minimum=1.0)
    eta = check.numbers("step_size", step_size, minimum=0.0)
    tau = check.numbers("local_steps", local_steps, minimum=1.0)
    common = (
        (eta * tau) ** 2 * factor * s.c**loss_power * s.p * (s.mu if mu_z is None else mu_z)
        * s.largest * check.numbers("loss", loss, minimum=0.0)
    )  # fmt: skip
    norms = s.c**norm_power
    in_U = common * norms * (1.0 / (participants * s.d) + 1.0 / s.d**2)
    return in_U, common * s.k * (norms + (s.mu if mu_U is None else mu_U)) / s.d**2


def drift(
    setting: Setting, *, step_size: ArrayLike, steps: ArrayLike, loss: ArrayLike,
    factor: float = 6.0, with_p: bool = True,
) -> Values:  # fmt: skip
    r"""Return :math:`6\frac{\eta}{d} p^{3/2} s c^3 \mu^{3/2} \sigma_1^{3/2} \sqrt L`.

    Lemma C.9 for s = tau; the increment of Lemma C.8 for s = 1, stated without p and proved with it
    (``with_p``). Lemma C.10 has 10 and tau^2.

    Parameters
    ----------
    setting : Setting
    step_size, steps : array_like
        eta and s.
    loss : array_like
        L at the round's start.
    factor : float, default 6
        In front.
    with_p : bool, default True
        Whether p^(3/2) is in it.
    """
    s, loss = setting, check.numbers("loss", loss, minimum=0.0)
    growth = s.p**1.5 if with_p else 1.0
    eta = check.numbers("step_size", step_size, minimum=0.0)
    return (
        factor * eta * growth * check.numbers("steps", steps, minimum=0.0) / s.d
        * s.c**3 * s.mu**1.5 * s.largest**1.5 * np.sqrt(loss)
    )  # fmt: skip


def gradient_bound(setting: Setting, loss: ArrayLike, *, root: bool = False) -> Values:
    r"""Return (61)'s bound on the gradient's norm, :math:`c\sqrt{c_z}\sigma_1 L`.

    Parameters
    ----------
    setting : Setting
    loss : array_like
        L, at least 0.
    root : bool, default False
        What its second line gives instead: :math:`2c\sqrt{c_z \sigma_1 L}`.
    """
    s, loss = setting, check.numbers("loss", loss, minimum=0.0)
    if root:
        return 2.0 * s.c * np.sqrt(s.c_z * s.largest * np.asarray(loss))
    return s.c * np.sqrt(s.c_z) * s.largest * np.asarray(loss)


# Theorems.


def step_size_limit(
    setting: Setting, local_steps: int, *, c_power: float = 5.0, condition_power: float = 0.0
) -> float:
    """Return the largest step size of Theorem C.4; corrected, with c^7 and sigma_1/sigma_k.

    Parameters
    ----------
    setting : Setting
    local_steps : int
        tau, at least 1.
    c_power, condition_power : float, default 5 and 0
        Powers of c and of sigma_1/sigma_k in the denominator: 7 and 1 in the corrected one.
    """
    s = setting
    steps = check.integer("local_steps", local_steps, minimum=1)
    condition = (s.largest / s.smallest) ** condition_power
    return s.smallest / (
        132.0 * s.p**1.5 * s.k * steps * s.mu**2 * s.largest**2 * s.c**c_power * s.c_z**4
        * condition
    )  # fmt: skip


def decrease(
    setting: Setting, *, step_size: float, local_steps: int, with_p: bool = False,
    c_z_power: float = 3.0, c_power: float = 1.0, condition_power: float = 0.0,
) -> float:  # fmt: skip
    r"""Return :math:`\frac12\eta\tau\,\sigma_k/(c\,c_z^3\,d)`, by what share L falls in a round.

    Lemma C.11; Theorem C.4 has another p in the denominator (``with_p``), and displays differ in
    the power of c_z. Factors may be as unbalanced as their norms allow, U's smallest singular value
    down to sigma_k over V's norm: that takes c^2 and sigma_1/sigma_k in the denominator.

    Parameters
    ----------
    setting : Setting
    step_size : float
        eta.
    local_steps : int
        tau.
    with_p : bool, default False
        Whether p is in the denominator.
    c_z_power, c_power, condition_power : float, default 3, 1 and 0
        Powers of c_z, c and sigma_1/sigma_k in the denominator.
    """
    s = setting
    slow = s.c**c_power * s.c_z**c_z_power * s.d * (s.p if with_p else 1)
    slow *= (s.largest / s.smallest) ** condition_power
    eta = check.real("step_size", step_size, minimum=0.0)
    return 0.5 * eta * check.integer("local_steps", local_steps, minimum=1) * s.smallest / slow


def contraction(setting: Setting, **settings: Any) -> float:
    """Return the factor by which L falls in a round, 1 minus :func:`decrease`.

    Parameters
    ----------
    setting : Setting
    **settings
        Step size, local steps and options of :func:`decrease`.
    """
    return 1.0 - decrease(setting, **settings)


class Near(NamedTuple):
    """What ``perfedsi.theorem3.3.local`` promises of rounds from a ball around balanced factors.

    Attributes
    ----------
    radius : float
        Of the ball, R.
    step_size : float
        The largest.
    share : float
        What a round takes off the mean squared distance to the nearest factors of M*.
    move : float
        At least the mean move of a round, over the distance at its start.
    leaving : float
        At least the probability of ever leaving the ball, over the distance at the start.
    """

    radius: float
    step_size: float
    share: float
    move: float
    leaving: float


def near_truth(
    setting: Setting, local_steps: int, *, rate: float = 1.0, limit: float = 21.0,
    reach: float = 24.0,
) -> Near:  # fmt: skip
    r"""Return what is proved near the truth, with no event that is assumed.

    With tau local steps, of step sizes up to :math:`\eta = 1/(21\tau\mu_z p\sigma_1)`, a round
    takes off :math:`\eta\tau\sigma_k/(c_z d)` within :math:`R = \sqrt{\sigma_k/p}/(24 c_z)`.

    Parameters
    ----------
    setting : Setting
        c and mu do not enter.
    local_steps : int
        Tau.
    rate, limit, reach : float
        The constants 1, 21 and 24.

    Returns
    -------
    Near
    """
    s, tau = setting, check.integer("local_steps", local_steps, minimum=1)
    rate, limit, reach = (
        check.real(name, value, above=0.0)
        for name, value in (("rate", rate), ("limit", limit), ("reach", reach))
    )
    radius = float(np.sqrt(s.smallest / s.p)) / (reach * s.c_z)
    mu_z = s.mu if s.mu_z is None else s.mu_z
    step_size = 1.0 / (limit * tau * mu_z * s.p * s.largest)
    share = rate * step_size * tau * s.smallest / (s.c_z * s.d)
    move = 3.0 * step_size * tau * s.largest * float(np.sqrt(mu_z * s.p * s.c_z / s.d))
    return Near(radius, step_size, share, move, 4.0 * move / (share * radius))


def rounds(setting: Setting, tolerance: float, *, local_steps: int, with_p: bool = False) -> float:
    """Return the rounds after which Theorem C.4 at its largest step size has L <= tolerance L_0.

    Parameters
    ----------
    setting : Setting
    tolerance : float
        Positive; a share of the loss at the start.
    local_steps : int
        tau, at least 1.
    with_p : bool, default False
        As in :func:`decrease`.

    Returns
    -------
    float
        Not rounded; at least 1, as the theorem's exponent is T - 1.
    """
    tolerance = check.real("tolerance", tolerance, above=0.0)
    step_size = step_size_limit(setting, local_steps)
    rate = decrease(setting, step_size=step_size, local_steps=local_steps, with_p=with_p)
    return 1.0 + float(np.log(tolerance) / np.log1p(-rate)) if tolerance < 1.0 else 1.0


# Appendix B: linear regression with a bias per client, which side information predicts or not.


def bias_risk(
    Z: ArrayLike, biases: ArrayLike, *, d: int = 0, m: float = np.inf, noise: float = 0.0
) -> float:
    r"""Return the expected excess risk of least squares over all clients, a mean over them.

    With :math:`\rho` the mean squared distance of the biases to the span of Z's columns, q the rank
    of Z and N = nm samples in all, of standard normal covariates,

    .. math::
        E\|\hat\theta - \theta\|^2 = \Delta
            = \frac{d\,(N\rho + (N - q)\sigma^2)}{(N - q)(N - q - d - 1)}, \qquad
        E = \tfrac12\Big(\Delta + \rho + \frac qN(\sigma^2 + \Delta)\Big).

    Appendix B has the limit :math:`\rho/2` for Z = 1, one bias for all, where :math:`\rho` is the
    biases' variance, and 0 where the side information explains them.

    Parameters
    ----------
    Z : array_like, shape (n, p)
    biases : array_like, shape (n,)
    d : int, default 0
        Dimension of the covariates.
    m : float, default infinity
        Samples per client.
    noise : float, default 0
        Standard deviation of the label noise.

    Returns
    -------
    float
        Infinite where N - q <= d + 1.

    Notes
    -----
    Given the part of X outside the span of the stacked Z, the estimate of theta depends on no
    other part; X restricted to the span is independent of it.
    """
    Z = check.array("Z", Z, (None, None))
    b = check.array("biases", biases, (len(Z),))
    if not m > 0:
        raise ValueError(f"m must be greater than 0, got {m}")
    d, noise = check.integer("d", d, minimum=0), check.noise(noise)
    bias = float(np.mean((b - Z @ np.linalg.lstsq(Z, b, rcond=None)[0]) ** 2))
    if not np.isfinite(m):
        return 0.5 * bias
    q, N = int(np.linalg.matrix_rank(Z)), len(Z) * float(m)
    if N - q <= d + 1:
        return np.inf
    slope = d * (N * bias + (N - q) * noise**2) / ((N - q) * (N - q - d - 1))
    return 0.5 * (slope + bias + q / N * (noise**2 + slope))


checked(globals(), nan=False, large=False)
