"""Instances that searches walk through: a truth and an iterate, read off real numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from linrep.claims import Search
from linrep.claims.instances import Reader, search_instances
from linrep.claims.measurements import Array
from linrep.papers.perfedsi._rounds import Runs, play, walk
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

#: Sizes of errors, from those of the truth on.
ERRORS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
SHAPES = (
    {"n": 1, "d": 1, "p": 1, "k": 1},
    {"n": 2, "d": 2, "p": 2, "k": 1},
    {"n": 3, "d": 3, "p": 2, "k": 2},
)


class Instance(NamedTuple):
    """A truth and an iterate of the server."""

    truth: SideInformationCompletion
    U: Array
    V: Array


def read(reader: Reader, shape: Mapping[str, int]) -> Instance | None:
    """Return an instance; None if M* has a lower rank or Z dependent columns.

    U is U* G, V is V* inv(G'), each with an error 10^-|x| times a matrix, x the first number: the
    product is as near to M* as it says, whatever G does to the factors' sizes.
    """
    n, d, p, k = (shape[name] for name in "ndpk")
    size = reader.number()
    Z, star_U, star_V, in_U, in_V, G = blocks = [
        reader.numbers(*sizes) for sizes in ((n, p), (d, k), (p, k), (d, k), (p, k), (k, k))
    ]
    if not np.isfinite(size) or not all(np.isfinite(block).all() for block in blocks):
        return None
    if max(abs(size), *(np.abs(block).max() for block in blocks)) > 1e6:
        return None
    if n < p or not all(map(_conditioned, (Z, G, star_U, star_V))):
        return None
    near = 10.0 ** -min(abs(size), 8.0)
    U, V = star_U @ G + near * in_U, star_V @ np.linalg.inv(G.T) + near * in_V
    return Instance(SideInformationCompletion(star_U, star_V, Z), U, V)


def searched(sides, budget, rng, *, name: str, shapes=SHAPES, **options) -> Search:
    """Search all truths and iterates for sides(truth, U, V), lhs and rhs or None."""

    def of_instance(instance):
        return sides(*instance)

    return search_instances(of_instance, shapes, read, budget, rng, name=name, **options)


def _conditioned(A):
    """Tell whether the condition number is at most 1e4."""
    values = np.linalg.svd(A, compute_uv=False)
    return values[-1] > 0.0 and values[0] / values[-1] <= 1e4


def event(truth: SideInformationCompletion, U: Array, V: Array) -> theory.Regularity:
    """Return what Definition 3.1 needs at an iterate of the server, which all clients share."""
    everyone = (np.broadcast_to(A, (truth.n, *A.shape)) for A in (U, V))
    return theory.regularity(truth, *everyone, loss=np.inf, c_0=1.0)


def needed(truth: SideInformationCompletion, U: Array, V: Array) -> tuple[theory.Regularity, float]:
    """Return what Definition 3.1 needs at an iterate of the server, and 2 c_z c c_0 there.

    c c_0 is the least one that max L_m <= c c_0 sigma_k^2 allows, and c at least 1, as the L_m, of
    mean L, are at most c L. All clients share the iterate: a client's own iterates later in a round
    are bounded on its own z_m only.
    """
    found = event(truth, U, V)
    return found._replace(norms=max(found.norms, 1.0)), 2.0 * theory.scaling(
        truth.Z
    ).c_z * found.loss


#: Local steps of the rounds below; any number is alike, as Theorem C.4 bounds their sum.
_STEPS = 4


class Round(NamedTuple):
    """A round from one iterate of the server: every client's, and what the event needs of them."""

    c: float
    c_z: float
    mu: float
    share: float  # s = 2 c_z c c_0
    U: Array  # (walkers, d, k), of all local iterates; the first is the server's
    V: Array  # (walkers, p, k)


def longest_steps(
    truth: SideInformationCompletion, U: Array, V: Array, *, longer: float = 1.0
) -> Round | None:
    """Return a round of the longest steps that Theorem C.4 allows for what the event needs in it.

    Every client walks twice: from item to item, and on one item alone; its steps are so many times
    `longer`. None where L is 0 or where the iterates met on the way need constants for which these
    steps were too long.
    """
    runs = Runs.of([truth], [(U, V)])
    level, scaling = runs.losses(), theory.scaling(truth.Z)
    if not level[0] > 0.0:
        return None
    n, d = truth.n, truth.d
    who = np.tile(np.arange(n), 2)[None]
    items = np.stack([np.arange(_STEPS) % d] * n + [np.zeros(_STEPS, dtype=int)] * n)[None]
    about = runs.star_U, runs.star_V, truth.Z[who], runs.values
    # First the server's own iterate, then all: what these need more makes the steps shorter.
    step_size, longest = 0.0, 0.0
    for _ in range(3):
        iterates = [(A.copy(), B.copy()) for A, B in walk(runs, who, items, step_size)]
        needs = [
            theory.local_regularity(*about, *each, loss=level, c_0=np.inf).worst()
            for each in iterates
        ]
        c, mu = (
            max(1.0, *(float(np.max(getattr(found, name))) for found in needs for name in names))
            for names in (("norms", "loss"), ("rows", "errors"))
        )
        mu = max(mu, scaling.mu_z)
        if not (np.isfinite(c) and np.isfinite(mu)):
            return None
        longest = longer * theory.step_size_limit(theory.Setting.of(truth, c=c, mu=mu), _STEPS)
        if 0.0 < step_size <= longest:
            break
        step_size = longest * (1.0 - 1e-9)
    else:
        return None
    largest = max(float(np.max(found.loss)) for found in needs) * level[0]
    share = 2.0 * scaling.c_z * largest / truth.singular_values[-1] ** 2
    every = (np.concatenate([pair[place][0] for pair in iterates]) for place in (0, 1))
    return Round(c, scaling.c_z, mu, float(share), *every)


def sizes(truth, U, V):
    """Return L and the norm of its gradient."""
    loss, in_U, in_V = theory.loss_and_gradients(truth, U, V)
    return loss, float(np.hypot(np.linalg.norm(in_U), np.linalg.norm(in_V)))


def setting_of(truth, c):
    """Return the numbers of a truth, with a c."""
    return theory.Setting.of(truth, c=c, mu=1.0)


def relative_loss(truth, U, V):
    """Return L over the squared size of M*, below which it may be rounding."""
    return theory.loss_and_gradients(truth, U, V)[0] / np.sum(truth.singular_values**2)


def _side(c_z, n, directions, rng):
    """Return side information whose Z'Z/n has eigenvalues from 1/c_z to c_z along directions."""
    p = len(directions)
    left = np.linalg.qr(rng.standard_normal((n, p)))[0]
    return left * np.sqrt(n * np.geomspace(1.0 / c_z, c_z, p)) @ directions.T


def random_truth(values, c_z, rng, *, aligned=False, d=6, p=4, n=12):
    """Return a truth with given singular values and scaling; V* carries the singular values.

    If aligned, side information is weakest along V*'s last column, then along the one before.
    """
    k = len(values)
    U, V = (np.linalg.qr(rng.standard_normal((rows, size)))[0] for rows, size in ((d, k), (p, p)))
    weakest = np.hstack([V[:, k - 1 :: -1], V[:, k:]])
    other = np.linalg.qr(rng.standard_normal((p, p)))[0]
    Z = _side(c_z, n, weakest if aligned else other, rng)
    return SideInformationCompletion(U, V[:, :k] * np.asarray(values), Z)


def split(truth, gamma, side):
    """Return factors of M*: gamma times V*'s frame and the rest, or the other way round."""
    left, values, right = np.linalg.svd(truth.M, full_matrices=False)
    left, values, right = left[:, : truth.k], values[: truth.k], right[: truth.k].T
    return (
        (left * values / gamma, right * gamma)
        if side == "V"
        else (
            left * gamma,
            right * values / gamma,
        )
    )


#: Constants of the event that iterates below satisfy.
C, MU = 1.01, 1.1


def vanishing(d, size):
    """Return a truth and a start: V = V*, and U has the one row size/sqrt(d).

    Both clients have the same loss, about 1/2.
    """
    Z = np.array([[1.0, 1.0], [1.0, -1.0]])
    truth = SideInformationCompletion(np.full((d, 1), d**-0.5), np.eye(2, 1), Z)
    return truth, size / np.sqrt(d) * np.eye(d, 1), truth.V.copy()


def vanishing_runs():
    """Yield d, size, U and V after each of three rounds from there, where all stay in the event.

    Its c_0 is 1/2. All local iterates of all clients are looked at. Steps are so much shorter than
    Theorem C.4 asks for that U stays as small.
    """
    for d in (4, 16, 64):
        for size in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
            truth, U, V = vanishing(d, size)
            setting = theory.Setting.of(truth, c=C, mu=MU)
            runs, iterates = Runs.of([truth], [(U, V)]), [(U, V)]
            for rounds in range(3):
                runs, needs = play(
                    runs,
                    np.random.default_rng(rounds),
                    rounds=1,
                    participants=2,
                    local_steps=2,
                    step_size=size * theory.step_size_limit(setting, 2) / d,
                )
                loss = needs.loss * np.maximum(1.0, 2.0 * needs.level)
                within = max(needs.norms.max(), loss.max()) <= C
                if not within or max(needs.rows.max(), needs.errors.max()) > MU:
                    break
                iterates.append((runs.U[0], runs.V[0]))
            else:
                yield d, size, iterates
