"""Section 3 and Remark C.2: what a client's update shows of its side information and ratings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linrep.claims import Cases, Fact, Frequency, Identity, Paired, statement
from linrep.claims.evidence import PROVED
from linrep.papers.perfedsi._hypotheses import NORMALIZED
from linrep.papers.perfedsi.counterexamples.privacy import sides
from linrep.problems import SideInformationCompletion

_STEP = 0.1
_NOISES = (0.01, 0.1, 1.0, 10.0)  # over the size of V's move


class Update(NamedTuple):
    """What a server has of a client's round, and the truth that it should not have."""

    U: np.ndarray
    V: np.ndarray
    after_U: np.ndarray
    after_V: np.ndarray
    z: np.ndarray
    items: np.ndarray
    ratings: np.ndarray
    star: np.ndarray


def _update(rng, steps=1, *, side="unit", n=40, d=30, p=6, k=3) -> Update:
    """Return the update of a client, with side information of norm 1 as in Appendix C.4."""
    truth = SideInformationCompletion.random(n=n, d=d, p=p, k=k, side=side, rng=rng)
    U, V = rng.standard_normal((d, k)) / np.sqrt(d), rng.standard_normal((p, k)) / np.sqrt(p)
    z, items = truth.Z[rng.integers(n)], rng.permutation(d)[:steps]
    ratings = truth.M[items] @ z
    after_U, after_V = U.copy(), V.copy()
    for item, rating in zip(items, ratings, strict=True):
        u, v = after_U[item].copy(), after_V.T @ z
        residual = u @ v - rating
        after_U[item] -= _STEP * residual * v
        after_V -= _STEP * residual * np.outer(z, u)
    return Update(U, V, after_U, after_V, z, items, ratings, truth.M)


def _noisy(update, noise, rng, on="V") -> Update:
    """Add normal noise to what is sent of V, or of U, of a size relative to V's move."""
    size = noise * np.linalg.norm(update.after_V - update.V) / np.sqrt(update.V.size)
    sent = getattr(update, f"after_{on}")
    return update._replace(**{f"after_{on}": sent + size * rng.standard_normal(sent.shape)})


def _read(update, star=None):
    """Return item, side information and rating from one step, up to a common sign.

    V's move is eta rho z u', u being the item's row: V's move times u/|u|^2 is eta rho z. With M*
    the residual rho = (u'V' - M*_i) z gives its square; without, z is of norm 1.
    """
    item = int(np.argmax(np.linalg.norm(update.after_U - update.U, axis=1)))
    u = update.U[item]
    found = (update.V - update.after_V) @ u / (_STEP * (u @ u))
    if star is None:
        residual = np.linalg.norm(found)
    else:
        residual = np.sqrt(abs((u @ update.V.T - star[item]) @ found))
    z = found / residual
    return item, z, u @ update.V.T @ z - residual


def _direction(update):
    """Return the leading left singular vector of V's move."""
    return np.linalg.svd(update.V - update.after_V)[0][:, 0]


def _error(found, expected) -> float:
    """Return the distance of two vectors or numbers, of either sign, relative to the second."""
    size = float(np.linalg.norm(expected))
    return min(float(np.linalg.norm(found - sign * expected)) for sign in (1.0, -1.0)) / size


@statement(
    "perfedsi.privacy",
    place="Section 2, last sentence; Section 3",
    latex=r"(U_{t,m,\tau}, V_{t,m,\tau}, M_*) \not\mapsto \pm(z_m, M_*z_m), \text{ that is }"
    r" z_mz_m^\top",
    plain="Since z_m is not sent, the server cannot compute a client's embedding and ratings up to "
    "a common sign, even if it knows M*.",
    negative_control={"noise": 0.01},
    holds_with={"noise": 10.0},
)
def privacy(budget, rng, *, noise=0.0):
    """Reconstruct side information and ratings from updates; noise is that on V.

    The sign is left open: (z, y) and (-z, -y) give the same update. "Cannot" is read as: within a
    tenth of the truth in at most one update of ten. Five steps show the direction of z_m.
    """
    found = {"z_m, tau = 1": 0, "M* z_m, tau = 1": 0, "direction of z_m, tau = 5": 0}
    count = budget(200, 2000)
    for _ in range(count):
        one, five = (_noisy(_update(rng, s, side="gaussian"), noise, rng) for s in (1, 5))
        _, z, _ = _read(one, one.star)
        errors = (
            _error(z, one.z),
            _error(one.star @ z, one.star @ one.z),
            _error(_direction(five), five.z / np.linalg.norm(five.z)),
        )
        for name, error in zip(found, errors, strict=True):
            found[name] += error < 0.1
    for name, times in found.items():
        yield Frequency(
            times,
            count,
            0.1,
            quantity="share of updates that give it away",
            name=name,
            setting={"d": 30, "M": 40, "k": 6, "r": 3, "noise": noise},
        )
    if noise == 0.0:
        yield Cases(
            [(*sides(), {"z": ["1/3", "2/3", "2/3"], "item": 3, "tau": 1, "r": 1})],
            quantity="answers that leave z open",
            name="one step in fractions: z is not found, up to its sign",
        )


@statement(
    "perfedsi.privacy.corrected",
    place="Section 2, last sentence; Section 3",
    hypotheses=[NORMALIZED],
    latex=r"V_{t,m,\tau} - V_t = -z_m a^\top;\quad \tau = 1:\ V_{t,m,1} - V_t ="
    r" -\eta\rho z_m u_i^\top,\ U_{t,m,1} - U_t = -\eta\rho e_i (V_t^\top z_m)^\top",
    plain="An update of V is z_m times a row; one of a single step that moves U and V gives the "
    "item and, for rows of known norm, z_m and the rating up to a common sign.",
    negative_control={"noise": 0.01},
    corrects="perfedsi.privacy",
)
def privacy_corrected(budget, rng, *, noise=0.0):
    """Reconstruct all of it, and the direction of z_m and the items from five steps."""
    cases: dict[str, list] = {
        "item, tau = 1": [],
        "z_m, tau = 1": [],
        "rating, tau = 1": [],
        "direction of z_m, tau = 5": [],
        "items, tau = 5": [],
    }
    for _ in range(budget(50, 500)):
        one, five = (_noisy(_update(rng, steps), noise, rng) for steps in (1, 5))
        item, z, rating = _read(one)
        seen = np.flatnonzero(np.any(five.after_U != five.U, axis=1))
        for name, deviation in zip(
            cases,
            (
                float(item != one.items[0]),
                _error(z, one.z),
                _error(np.array([rating]), one.ratings) * min(1.0, abs(one.ratings[0])),
                _error(_direction(five), five.z),
                float(set(seen) != set(five.items)),
            ),
            strict=True,
        ):
            cases[name].append((deviation, {"noise": noise}))
    for name, deviations in cases.items():
        yield Identity(deviations, 1e-6, name=name, strength=PROVED)


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
    count = budget(60, 400)
    updates = [_update(rng, 5) for _ in range(count)]
    errors = [
        # Rounding is no information.
        [1e-6 + _error(_direction(_noisy(update, noise, rng, on)), update.z) for update in updates]
        for noise in (0.0, *_NOISES[:3])
    ]
    for noise, less, more in zip(_NOISES, errors, errors[1:], strict=False):
        yield Paired(
            less,
            more,
            quantity="median ratio of the errors of z_m's direction",
            name=f"noise {noise:g} of the move, against less",
        )
    last = [_noisy(_update(rng), _NOISES[-1], rng) for _ in range(20)]
    # U's move of one step is e_i (V'z)': r of z_m's numbers, up to a factor, without noise.
    left = []
    for update in last:
        move = (update.after_U - update.U)[update.items[0]]
        head = update.V.T @ update.z
        left.append(_error(move / np.linalg.norm(move), head / np.linalg.norm(head)))
    yield Fact("largest error of V'z_m's direction from U's move, noise on V 10 times", max(left))
