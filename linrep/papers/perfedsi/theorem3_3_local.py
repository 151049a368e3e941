"""Theorem 3.3 near the truth without an event: what is proved here beside the paper."""

from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Cases, Frequency, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines
from linrep.claims.measurements import Array
from linrep.papers.perfedsi.model import ASSUMPTION_3_2, FRESH, NEAR, RANK, drawn, unbalanced
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import State, Walks, sequences


@lines(
    "perfedsi.theorem3.3.local",
    Region(
        c_z=(1, None),
        k=(1, None),
        sigma=(Open(0), None),
        square=lambda c_z, k, sigma, *, reach=24: (0, sigma / (reach**2 * c_z**2 * k)),
    ),
    steps=["a round: what residuals take off less what q adds"],
)
def a_round(c_z, k, sigma, square, *, rate=1):
    """Over eta tau/d; sigma is sigma_r, the square that of R or less."""
    taken = Fraction(7, 4) * Fraction(49, 64) * Fraction(43, 48) ** 2 * sigma / c_z
    added = 2 * Fraction(1004, 1000) ** 2 * k * c_z * square
    name = "a round: what residuals take off less what q adds"
    return {name: at_most(rate * sigma / c_z, taken - added)}


def promised(truth: SideInformationCompletion, tau: int, **constants: float) -> theory.Near:
    """Return the radius, the largest step size, and what they promise."""
    return theory.near_truth(theory.Setting.of(truth, c=1.0, mu=1.0), tau, **constants)


def across(truth: SideInformationCompletion, in_U: Array, in_V: Array) -> tuple[Array, Array]:
    """Return the part of a change of the factors that is orthogonal to all factors of M*.

    They are U* K, V* inv(K'): the tangent space has U* Y, -V* Y'.
    """
    units = np.eye(truth.k**2).reshape(-1, truth.k, truth.k)
    columns = [np.vstack([truth.U @ Y, -truth.V @ Y.T]).ravel() for Y in units]
    frame, _ = np.linalg.qr(np.transpose(columns))
    both = np.vstack([in_U, in_V]).ravel()
    rest = (both - frame @ (frame.T @ both)).reshape(-1, truth.k)
    return rest[: truth.d], rest[truth.d :]


def balanced(truth: SideInformationCompletion) -> SideInformationCompletion:
    """Return a truth with balanced factors."""
    left, values, right = np.linalg.svd(truth.M, full_matrices=False)
    k, roots = truth.k, np.sqrt(values[: truth.k])
    return SideInformationCompletion(left[:, :k] * roots, right[:k].T * roots, truth.Z)


def beside(truth: SideInformationCompletion, distance: float, rng) -> SideInformationCompletion:
    """Return the truth with other factors of M*, at most so far from its own."""
    turn = rng.standard_normal((truth.k, truth.k))
    turn *= 0.4 * distance / np.linalg.norm(turn) / np.sqrt(truth.singular_values[0])
    K = np.eye(truth.k) + turn
    return SideInformationCompletion(truth.U @ K, truth.V @ np.linalg.inv(K).T, truth.Z)


def a_round_of(truth, change, tau, participants, share_of, constants):
    """Return what a round takes off and how far it moves, both beside what is promised."""
    near = promised(truth, tau, **constants)
    in_U, in_V = across(truth, *change)
    scale = share_of * near.radius / np.sqrt(np.sum(in_U**2) + np.sum(in_V**2))
    in_U, in_V = scale * in_U, scale * in_V
    state = State(truth, truth.U + in_U, truth.V + in_V)
    parts = Walks(state, sequences(truth.d, tau), near.step_size).shifts[-1]
    moves = np.concatenate([part.reshape(-1, part[0, 0].size) for part in parts], axis=1)
    off = np.concatenate([in_U.ravel(), in_V.ravel()])
    before, mean = off @ off, moves.mean(axis=0)
    squares = np.mean(np.sum(moves**2, axis=1))
    both = squares / participants + (1.0 - 1.0 / participants) * mean @ mean
    fall = -(2.0 * off @ mean + both) / before
    at = {
        "d": truth.d, "k": truth.p, "r": truth.k, "M": truth.n, "tau": tau, "C": participants,
        "sigma": truth.singular_values.tolist(), "c_z": theory.scaling(truth.Z).c_z,
        "share of the radius": share_of, "eta": near.step_size,
    }  # fmt: skip
    moved = np.mean(np.linalg.norm(moves, axis=1)) / np.sqrt(before)
    return (near.share, fall, at), (moved, near.move, at)


def slow():
    """Yield truths with the change that gradients see least: beyond V*, with little of Z there."""
    for c_z, condition in product((1.0, 4.0, 16.0), (1.0, 4.0, 16.0)):
        truth = balanced(unbalanced(1.0, condition, d=4, p=4, c_z=c_z).truth)
        in_V = np.zeros_like(truth.V)
        in_V[2, -1] = 1.0
        yield truth, (np.zeros_like(truth.U), in_V)


def at_random(count, rng):
    """Yield truths and changes at random."""
    for _ in range(count):
        d, p = (int(rng.integers(1, 5)) for _ in range(2))
        truth = drawn(
            rng, n=p + int(rng.integers(0, 3)), d=d, p=p, k=int(rng.integers(1, min(d, p) + 1)),
            side=rng.choice(["gaussian", "unit", "isometric"]),
            condition=10.0 ** rng.uniform(0, 1.5),
        ).truth  # fmt: skip
        change = tuple(rng.standard_normal(F.shape) for F in (truth.U, truth.V))
        if np.isfinite(theory.scaling(truth.Z).c_z) and np.any(across(truth, *change)[0]):
            yield truth, change


def leaves(truth, near, start, rounds, rng) -> bool:
    """Tell whether a run is outside of the ball at one of 20 times."""
    change = [rng.standard_normal(F.shape) for F in (truth.U, truth.V)]
    scale = start / np.sqrt(sum(np.sum(part**2) for part in change))
    at = tuple(F + scale * part for F, part in zip((truth.U, truth.V), change, strict=True))
    farthest = 0.0
    for _ in range(20):
        end = lr.perfedsi(
            truth, step_size=near.step_size, local_steps=1, rounds=rounds // 20, start=at,
            record=rounds // 20, rng=rng,
        ).state  # fmt: skip
        at = end["U"], end["V"]
        off = sum(np.sum((A - F) ** 2) for A, F in zip(at, (truth.U, truth.V), strict=True))
        farthest = max(farthest, float(np.sqrt(off)))
    return farthest > near.radius


@statement(
    "perfedsi.theorem3.3.local",
    own=True,
    place="Theorem 3.3",
    latex=r"\eta \le \frac1{21\tau\mu_zk\sigma_1},\ "
    r"\epsilon = \|(U_0, V_0) - (U_\circ, V_\circ)\|_F \le \frac R2,\ "
    r"R = \frac{\sqrt{\sigma_r}}{24c_z\sqrt k} \Rightarrow "
    r"E[D_T 1_{B_{T-1}}] \le \Big(1 - \frac{\eta\tau\sigma_r}{c_zd}\Big)^T D_0,\quad "
    r"\Pr[\text{not all } B_t] \le "
    r"288\,c_z^{5/2}k\sqrt{\mu_zd}\,\frac{\sigma_1}{\sigma_r}\frac\epsilon{\sqrt{\sigma_r}}",
    plain="Near balanced factors of M*, at steps of order 1/(k tau), PerFedSI converges linearly "
    "in the mean, and with a probability near 1 it never leaves: no event is assumed (derived "
    "here).",
    hypotheses=(RANK, ASSUMPTION_3_2, FRESH, NEAR),
    corrects="perfedsi.theorem3.3",
    stronger={"rate": 1, "limit": -1, "reach": -1},
    negative_control={"rate": 2.5},
)
def theorem_3_3_local(budget, rng, *, rate=1.0, limit=21.0, reach=24.0):
    """Enumerate rounds from within the ball: how far they move, and how near they come.

    D is the squared distance to the nearest factors of M*, and B_t says that the first t rounds
    end within R of the balanced ones. Starts are beside these factors, and beside others near them.
    As in the paper k is the dimension of the side information and r the rank, linrep's p and k.
    """
    constants = {"rate": rate, "limit": limit, "reach": reach}
    proof = PROVED if rate <= 1.0 and limit >= 21.0 and reach >= 24.0 else ""
    moves = []
    for name, group in (
        ("slow directions", slow()), ("random", at_random(budget(60, 400, 2000), rng)),
    ):  # fmt: skip
        falls = []
        for number, (truth, change) in enumerate(group):
            near = promised(truth, 1, **constants)
            other = beside(truth, near.radius, rng) if number % 2 else truth
            for tau, participants, part in ((1, 1, 1.0), (3, 1, 1.0), (2, 3, 0.01)):
                fall, move = a_round_of(other, change, tau, participants, part, constants)
                falls.append(fall)
                moves.append(move)
        yield Cases(falls, quantity="share of D that a round takes off", name=name, strength=proof)
    quantity = "mean move of a round over its distance"
    yield Cases(moves, quantity=quantity, name="moves", strength=proof)
    truth = SideInformationCompletion.random(n=6, d=3, p=2, k=1, side="isometric", rng=rng)
    near, runs = promised(truth, 1, **constants), budget(60, 200, 800)
    start, rounds = 0.25 / near.leaving, 20 * int(0.3 / near.share)
    left = sum(leaves(truth, near, start, rounds, rng) for _ in range(runs))
    at = {"epsilon": start, "R": near.radius, "rounds": rounds}
    yield Frequency(left, runs, 0.25, name="runs outside of the ball", strength=proof, setting=at)
