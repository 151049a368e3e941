"""Section 3 and Remark C.2: what a client's update shows of its side information and ratings."""

from typing import NamedTuple

import numpy as np
from numpy.linalg import norm

from linrep.claims import Cases, Identity, Paired, statement
from linrep.claims.evidence import PROVED
from linrep.papers.perfedsi.counterexamples.privacy import sides
from linrep.papers.perfedsi.model import NORMALIZED
from linrep.problems import SideInformationCompletion

STEP = 0.1
NOISES = (0.01, 0.1, 1.0)  # over the size of V's move


class Update(NamedTuple):
    """What a server has of a client's round, and the client's own that it should not have."""

    U: np.ndarray
    V: np.ndarray
    after_U: np.ndarray
    after_V: np.ndarray
    z: np.ndarray
    items: np.ndarray
    ratings: np.ndarray


def update_of(rng, steps=1, *, side="unit", n=40, d=30, p=6, k=3) -> Update:
    """Return the update of a client, with side information of norm 1 as in Appendix C.4."""
    truth = SideInformationCompletion.random(n=n, d=d, p=p, k=k, side=side, rng=rng)
    U, V = rng.standard_normal((d, k)) / np.sqrt(d), rng.standard_normal((p, k)) / np.sqrt(p)
    z, items = truth.Z[rng.integers(n)], rng.permutation(d)[:steps]
    ratings = truth.M[items] @ z
    after_U, after_V = U.copy(), V.copy()
    for item, rating in zip(items, ratings, strict=True):
        u, v = after_U[item].copy(), after_V.T @ z
        residual = u @ v - rating
        after_U[item] -= STEP * residual * v
        after_V -= STEP * residual * np.outer(z, u)
    return Update(U, V, after_U, after_V, z, items, ratings)


def noisy(update, noise, rng, on="V") -> Update:
    """Add normal noise to what is sent of V, or of U, of a size relative to V's move."""
    size = noise * norm(update.after_V - update.V) / np.sqrt(update.V.size)
    sent = getattr(update, f"after_{on}")
    return update._replace(**{f"after_{on}": sent + size * rng.standard_normal(sent.shape)})


def read(update):
    """Return item, side information and rating from one step, up to a common sign.

    V's move is eta rho z u', u being the item's row and rho the residual: V's move times u/|u|^2 is
    eta rho z, where z is of norm 1.
    """
    item = int(np.argmax(norm(update.after_U - update.U, axis=1)))
    u = update.U[item]
    found = (update.V - update.after_V) @ u / (STEP * (u @ u))
    residual = norm(found)
    z = found / residual
    return item, z, u @ update.V.T @ z - residual


def direction(update):
    """Return the leading left singular vector of V's move."""
    return np.linalg.svd(update.V - update.after_V)[0][:, 0]


def apart(found, expected) -> float:
    """Return the distance of two vectors or numbers, of either sign, relative to the second."""
    return min(float(norm(found - sign * expected)) for sign in (1.0, -1.0)) / float(norm(expected))


@statement(
    "perfedsi.privacy",
    place="Section 2, last sentence; Section 3",
    latex=r"(U_{t,m,\tau}, V_{t,m,\tau}, M_*) \not\mapsto \pm(z_m, M_*z_m), \text{ that is }"
    r" z_mz_m^\top",
    plain="Since z_m is not sent, the server cannot compute a client's embedding and ratings up to "
    "a common sign, even if it knows M*.",
    negative_control={"noise": 0.01},
)
def privacy(budget, rng, *, noise=0.0, printed=True):
    """Solve one step in fractions for z up to its sign; as corrected reconstruct all from updates.

    The sign is left open: (z, y) and (-z, -y) give the same update. Of five steps it is the
    direction of z_m and the items.
    """
    if printed:
        case = (*sides(), {"z": ["1/3", "2/3", "2/3"], "item": 3, "tau": 1, "r": 1})
        yield Cases([case], quantity="answers that leave z open", name="one step, in fractions")
        return
    names = (
        "item, tau = 1", "z_m, tau = 1", "rating, tau = 1", "direction of z_m, tau = 5",
        "items, tau = 5",
    )  # fmt: skip
    found = []
    for _ in range(budget(50, 500)):
        one, five = (noisy(update_of(rng, steps), noise, rng) for steps in (1, 5))
        item, z, rating = read(one)
        seen = np.flatnonzero(np.any(five.after_U != five.U, axis=1))
        found.append(
            (
                float(item != one.items[0]),
                apart(z, one.z),
                apart(np.array([rating]), one.ratings) * min(1.0, abs(one.ratings[0])),
                apart(direction(five), five.z),
                float(set(seen) != set(five.items)),
            )
        )
    for name, deviations in zip(names, zip(*found, strict=True), strict=True):
        cases = [(deviation, {"noise": noise}) for deviation in deviations]
        yield Identity(cases, 1e-6, name=name, strength=PROVED)


privacy.corrected(
    "perfedsi.privacy.corrected",
    latex=r"V_{t,m,\tau} - V_t = -z_m a^\top;\quad \tau = 1:\ V_{t,m,1} - V_t ="
    r" -\eta\rho z_m u_i^\top,\ U_{t,m,1} - U_t = -\eta\rho e_i (V_t^\top z_m)^\top",
    plain="An update of V is z_m times a row; one of a single step that moves U and V gives the "
    "item and, for rows of known norm, z_m and the rating up to a common sign.",
    constants={"printed": False},
    hypotheses=[NORMALIZED],
    negative_control={"noise": 0.01},
)


@statement(
    "perfedsi.remarkC2",
    place="Remark C.2",
    latex=r"V_{t,m,\tau} + N: \text{ the error of what it shows of } z_m \text{ grows with } N",
    plain="Noise on each client's V before the server receives it enhances the privacy of side "
    "information.",
    negative_control={"on": "U"},
)
def remark_c2(budget, rng, *, on="V"):
    """Compare the errors of the direction of z_m, from one update, at growing noise."""
    updates = [update_of(rng, 5) for _ in range(budget(60, 400))]
    errors = [
        # Rounding is no information.
        [1e-6 + apart(direction(noisy(update, noise, rng, on)), update.z) for update in updates]
        for noise in (0.0, *NOISES)
    ]
    quantity = "median ratio of the errors of z_m's direction"
    for noise, less, more in zip(NOISES, errors, errors[1:], strict=False):
        name = f"noise {noise:g} of the move, against less"
        yield Paired(less, more, quantity=quantity, name=name)
