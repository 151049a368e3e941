"""What statements of the PerFedSI paper share: hypotheses, truths and states, rounds of walks."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import hadamard

from linrep.claims import Exponent, Hypothesis, Search
from linrep.claims.measurements import Array, relative
from linrep.claims.search import Reader, search_instances
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import Items, Limits, State, Walks, balanced, sequences

# Hypotheses, as predicates on problems.

ROUNDING = 1e-9
#: What r << min(d, M) is read as.
MUCH = 0.1


def has_rank(problem, participants):
    """Tell whether M* has the rank that it is said to have."""
    values = problem.singular_values
    return bool(problem.k <= problem.p and values[-1] > ROUNDING * values[0])


def explains(problem, participants):
    """Tell whether side information explains the biases."""
    theta = np.linalg.lstsq(problem.Z, problem.biases, rcond=None)[0]
    return relative(problem.Z @ theta, problem.biases) < ROUNDING


def asks_nothing(problem, participants):
    """Tell what is asked of a problem where it is of data, of the algorithm, or of its start."""
    return True


ASSUMPTION_3_2 = Hypothesis(
    "Assumption 3.2",
    "(n/c_z) I <= Z'Z <= c_z n I: side information has independent columns",
    lambda problem, participants: bool(np.isfinite(theory.scaling(problem.Z).c_z)),
    printed="there exist constants c_z, mu_z of at least 1; the least ones are taken",
)
RANK = Hypothesis(
    "Section 3, rank", "M* has rank r, and k is at least r", has_rank,
    printed="L* = M* Z' has rank r, k >= r",
)  # fmt: skip
SMALL_RANK = Hypothesis(
    "Section 3, small rank", "r is at most a tenth of min(d, M)",
    lambda problem, participants: problem.k <= MUCH * min(problem.d, problem.n),
    printed="r << min(d, M)", change="narrower",
)  # fmt: skip
NORMALIZED = Hypothesis(
    "Appendix C.4, rows", "rows of Z have norm 1",
    lambda problem, participants: bool(
        np.allclose(np.linalg.norm(problem.Z, axis=1), 1.0, rtol=ROUNDING)
    ),
    printed="each row of Z is normalized",
)  # fmt: skip
EXPLAINED = Hypothesis(
    "Appendix B, side information",
    "some theta_2 has <theta_2, z_m> = b_m for all clients", explains,
    printed="there exists theta_2 such that <theta_2, z_m> = b_m for all m",
)  # fmt: skip
NORMAL_NOISE = Hypothesis(
    "Appendix B, data", "covariates and label noise are normal, and independent", asks_nothing,
    printed="p_x has mean zero and identity covariance, zeta_m is mean-zero random noise",
    change="narrower",
)  # fmt: skip
SAMPLING = Hypothesis(
    "Assumption C.1",
    "each client of a round is drawn independently and uniformly from all, so that one may be "
    "drawn twice",
    # How they are drawn is the algorithm's; that there are any is what can be asked here.
    lambda problem, participants: participants >= 1,
    printed="drawn independently from Unif({1, ..., M})",
)
START = Hypothesis(
    "Definition 3.1, start", "L(U_0, V_0) <= c_0 sigma_r^2 for a small enough c_0", asks_nothing,
    printed="for some constants c_0, c", change="narrower",
)  # fmt: skip
NEAR = Hypothesis(
    "Theorem 3.3, start", "U_0 and V_0 are near factors of M* that are balanced", asks_nothing,
    printed="L(U_0, V_0) <= c_0 sigma_r^2, and G_{T-1, tau}", change="corrected",
)  # fmt: skip
EVENT = Hypothesis(
    "Definition 3.1, event",
    "all conditions of A_{t,s}, also at A_{0,0}; the rank in the place of tau; rounds before t",
    asks_nothing,
    printed="c sigma_1 in A_{0,0}, tau in the bound on rows, t' from 1 to t", change="corrected",
)  # fmt: skip
STEP = Hypothesis(
    "Lemma C.8, step size", "eta <= sigma_r/(sqrt(k r) mu^(3/2) sigma_1^2)", asks_nothing,
    printed="eta <= c' sigma_r/(sqrt(k r) mu^(3/2)), in the proof alone", change="corrected",
)  # fmt: skip
FRESH = Hypothesis(
    "Theorem 3.3, samples", "each local step sees an item drawn anew, uniformly from all",
    asks_nothing,
    printed="fresh samples drawn on each local update",
)  # fmt: skip
REGION = Hypothesis(
    "Lemma C.6, region",
    "U and V are in D_beta at both points: norms are at most c sqrt(sigma_1)", asks_nothing,
)  # fmt: skip
#: Of what is stated about gradients and drift, about rounds, and about runs.
COMPLETION = (RANK, ASSUMPTION_3_2)
WITHIN = (*COMPLETION, EVENT)
SHORT_STEPS = (*WITHIN, STEP)
ROUNDS = (*WITHIN, SAMPLING)
RUNS = (*ROUNDS, START)

# A truth and an iterate of the server, read off real numbers: what searches walk through.

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
    if n < p or not all(map(is_conditioned, (Z, G, star_U, star_V))):
        return None
    near = 10.0 ** -min(abs(size), 8.0)
    U, V = star_U @ G + near * in_U, star_V @ np.linalg.inv(G.T) + near * in_V
    return Instance(SideInformationCompletion(star_U, star_V, Z), U, V)


def is_conditioned(A) -> bool:
    """Tell whether the condition number is at most 1e4."""
    values = np.linalg.svd(A, compute_uv=False)
    return values[-1] > 0.0 and values[0] / values[-1] <= 1e4


def searched(sides, budget, rng, *, name: str, shapes=SHAPES, **options) -> Search:
    """Search all truths and iterates for sides(truth, U, V), lhs and rhs or None."""
    return search_instances(
        lambda instance: sides(*instance), shapes, read, budget, rng, name=name, **options
    )


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
    found, c_z = event(truth, U, V), theory.scaling(truth.Z).c_z
    return found._replace(norms=max(found.norms, 1.0)), 2.0 * c_z * found.loss


def sizes(truth, U, V) -> tuple[float, float]:
    """Return L and the norm of its gradient."""
    loss, in_U, in_V = theory.loss_and_gradients(truth, U, V)
    return loss, float(np.hypot(np.linalg.norm(in_U), np.linalg.norm(in_V)))


def setting_of(truth, c) -> theory.Setting:
    """Return the numbers of a truth, with a c."""
    return theory.Setting.of(truth, c=c, mu=1.0)


def relative_loss(truth, U, V) -> float:
    """Return L over the squared size of M*, below which it may be rounding."""
    return theory.loss_and_gradients(truth, U, V)[0] / np.sum(truth.singular_values**2)


def random_truth(values, c_z, rng, *, aligned=False, d=6, p=4, n=12) -> SideInformationCompletion:
    """Return a truth with given singular values and scaling; V* carries the singular values.

    If aligned, side information is weakest along V*'s last column, then along the one before.
    """
    k = len(values)
    U, V = (np.linalg.qr(rng.standard_normal((rows, size)))[0] for rows, size in ((d, k), (p, p)))
    weakest = np.hstack([V[:, k - 1 :: -1], V[:, k:]])
    other = np.linalg.qr(rng.standard_normal((p, p)))[0]
    left = np.linalg.qr(rng.standard_normal((n, p)))[0]
    # Z'Z/n has eigenvalues from 1/c_z to c_z.
    Z = left * np.sqrt(n * np.geomspace(1.0 / c_z, c_z, p)) @ (weakest if aligned else other).T
    return SideInformationCompletion(U, V[:, :k] * np.asarray(values), Z)


def split(truth, gamma) -> tuple[Array, Array]:
    """Return factors of M*: gamma times U*'s frame, and the rest."""
    left, values, right = np.linalg.svd(truth.M, full_matrices=False)
    left, values, right = left[:, : truth.k], values[: truth.k], right[: truth.k].T
    return left * gamma, right * values / gamma


# States of the server, at random and at the limits of the event of Definition 3.1.


def plain(state: State) -> dict[str, Any]:
    """Return plain values to build a state again; of a large one its sizes."""
    truth = state.truth
    parts = {"U": state.U, "V": state.V, "U*": truth.U, "V*": truth.V, "Z": truth.Z}
    if sum(part.size for part in parts.values()) > 64:
        return {"n": truth.n, "d": truth.d, "p": truth.p, "k": truth.k}
    return {name: part.tolist() for name, part in parts.items()}


def alike(p: int, d: int, *, size: float = 1.0, error: float = 0.01, on_side: bool = True) -> State:
    """Return a state of rank 1 in which all clients have the same loss, and U's rows one size.

    Side information is a Hadamard matrix: c_z = mu_z = 1. The side of V has norm `size` and that
    of U the rest, or the other way round; both errors and heads are along the truth.
    """
    u, v = np.ones((d, 1)) / np.sqrt(d), np.eye(p, 1)
    truth = SideInformationCompletion(u, v, hadamard(p).astype(float))
    other = (1.0 + error) / size
    return State(truth, other * u, size * v) if on_side else State(truth, size * u, other * v)


def unbalanced(
    c: float, condition: float, *, d: int = 8, k: int = 2, p: int = 4, c_z: float = 1.0,
    error: float = 1e-3,
) -> State:  # fmt: skip
    """Return a state with M*'s smallest direction as weak in U as V's norm c allows.

    The error is in V, outside of its range, and moves along that direction of U only: gradients
    are as small as they can be. Rows, errors and losses are all of one size (Hadamard matrices).
    Side information is weakest, 1/c_z, along the error, whose size in V is error/c.
    """
    frame = hadamard(d)[:, :k] / np.sqrt(d)
    values = np.ones(k)
    values[-1] = 1.0 / condition
    Z, V = hadamard(p).astype(float), np.eye(p, k)
    Z[:, k] /= np.sqrt(c_z)
    truth = SideInformationCompletion(frame * values, V, Z)
    U, V = frame * np.sqrt(values), V * np.sqrt(values)
    U[:, -1] *= np.sqrt(values[-1]) / c
    V[:, -1] *= c / np.sqrt(values[-1])
    V[k, -1] = error / c  # of M*'s size error/c^2: too small for gradients in U
    return State(truth, U, V)


def saddle(k: int) -> State:
    """Return U = 0 and V = 0, where nothing moves: L is k sigma_k^2/2, sigma_1 = sigma_k = 1."""
    state = unbalanced(1.0, 1.0, k=k)
    return State(state.truth, 0.0 * state.U, 0.0 * state.V)


def drawn(rng, *, n=4, d=4, p=2, k=1, side="gaussian", error=0.1, tilt=1.0, condition=1.0) -> State:
    """Return a random state: the truth's factors, one tilt times larger than the other, and noise.

    The noise has `error` times the truth's size, entry by entry.
    """
    values = np.geomspace(1.0, 1.0 / condition, k)
    truth = SideInformationCompletion.random(
        n=n, d=d, p=p, k=k, side=side, singular_values=values, rng=rng
    )
    U = tilt * (truth.U + error * rng.standard_normal((d, k)) / np.sqrt(d))
    V = (truth.V + error * rng.standard_normal((p, k)) / np.sqrt(p)) / tilt
    return State(truth, U, V)


def aligned(p: int, d: int, *, error: float = 0.01) -> State:
    """Return a state of rank 1 with most side information along the truth, mu_z = 1.

    8 p clients have sqrt(p) e_1, p - 1 others a direction each and no error: c_z is about p.
    """
    Z = np.sqrt(p) * np.vstack([np.tile(np.eye(1, p), (8 * p, 1)), np.eye(p)[1:]])
    u, v = np.ones((d, 1)) / np.sqrt(d), np.eye(p, 1)
    return State(SideInformationCompletion(u, v, Z), (1.0 + error) * u, v)


def edge(d: int, *, c: float = 1.0, error: float = 0.01) -> tuple[State, Limits]:
    """Return a state of one client with V's norm at its limit, and the limits.

    Every other item makes V larger, and so leads out of the event however small the step.
    """
    u, signs = np.ones((d, 1)) / np.sqrt(d), np.resize([1.0, -1.0], (d, 1)) / np.sqrt(d)
    size = np.sqrt(1.0 - error**2)
    truth = SideInformationCompletion(size * u - error * signs, np.eye(1), np.eye(1))
    return State(truth, size / c * u, c * np.eye(1)), Limits(c * (1.0 + 1e-12), 1.1, 2.0)


#: Of the states that searches walk through.
STATES = (
    {"n": 1, "d": 2, "p": 1, "k": 1},
    {"n": 2, "d": 2, "p": 2, "k": 1},
    {"n": 3, "d": 3, "p": 2, "k": 2},
)


def read_state(reader: Reader, shape) -> State | None:
    """Return the state that real numbers stand for, None if side information is dependent."""
    n, d, p, k = (shape[name] for name in "ndpk")
    Z, stars, side, U, V = (
        reader.numbers(*sizes) for sizes in ((n, p), (d, k), (p, k), (d, k), (p, k))
    )
    if not np.isfinite(theory.scaling(Z).c_z):
        return None
    truth = SideInformationCompletion(stars, side, Z)
    state = State(truth, U, V)
    return state if truth.singular_values[-1] > 0.0 and state.loss > 0.0 else None


# Rounds by enumeration: which walks, and means over them.

#: Walks on which the event's c would have to be larger have diverged.
OVERFLOW = 1e30


def items_for(d: int, steps: int, most: int, rng) -> Items:
    """Return all sequences if there are at most so many, else so many balanced ones."""
    if d**steps <= most:
        return sequences(d, steps)
    return balanced(d, steps, max(1, most // d), rng=rng)


def power_of(name, variable, sizes, values, predicted, *, at_most=False) -> Exponent:
    """Return enumerated values, which have no noise, along a variable; and their power in it."""
    claimed = {"at_most" if at_most else "equals": predicted}
    samples, name_of = [[value] * 2 for value in values], f"{name} in {variable}"
    return Exponent(
        sizes, samples, deterministic=True, along=variable, of=name, name=name_of, **claimed
    )


def start_of(state: State) -> Walks:
    """Return walks without steps."""
    return Walks(state, np.zeros((1, 0), dtype=int), 0.0)


def whole(power):
    """Return a power as a whole number, of which fractions stay fractions, where it is one."""
    return int(power) if float(power).is_integer() else float(power)


def rounded(value: float) -> float:
    """Return a left side less what rounding may have added."""
    return value * (1.0 - 1e-9)


# Rounds of the longest steps that Theorem C.4 allows.

LOCAL_STEPS = 4  # any number is alike, as Theorem C.4 bounds their sum


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
    state, scaling = State(truth, U, V), theory.scaling(truth.Z)
    if not state.loss > 0.0:
        return None
    items = np.array([np.arange(LOCAL_STEPS) % truth.d, np.zeros(LOCAL_STEPS, dtype=int)])
    # First the server's own iterate, then all: what these need more makes the steps shorter.
    step_size, longest = 0.0, 0.0
    for _ in range(3):
        walks = Walks(state, items, step_size)
        norms, losses, rows, errors = (
            float(np.max(each)) for each in zip(*walks.regularity, strict=True)
        )
        c, mu = max(1.0, norms, losses), max(1.0, rows, errors, scaling.mu_z)
        if not (np.isfinite(c) and np.isfinite(mu)):
            return None
        setting = theory.Setting.of(truth, c=c, mu=mu)
        longest = longer * theory.step_size_limit(setting, LOCAL_STEPS)
        if 0.0 < step_size <= longest:
            break
        step_size = longest * (1.0 - 1e-9)
    else:
        return None
    share = 2.0 * scaling.c_z * losses * state.loss / truth.singular_values[-1] ** 2
    every = (np.concatenate(A).reshape(-1, *A[0].shape[2:]) for A in (walks.U, walks.V))
    return Round(c, scaling.c_z, mu, float(share), *every)


#: Constants of the event that the iterates below satisfy, with c_0 = 1/2.
C, MU = 1.01, 1.1


def vanishing_runs():
    """Yield d, size, U and V after each of three rounds that stay in the event, U being so small.

    V = V*, and U has the one row size/sqrt(d); both clients have the same loss, about 1/2, and take
    part. All local iterates are looked at. Steps are so much shorter than Theorem C.4 asks for that
    U stays as small.
    """
    for d, size in product((4, 16, 64), (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)):
        Z = np.array([[1.0, 1.0], [1.0, -1.0]])
        truth = SideInformationCompletion(np.full((d, 1), d**-0.5), np.eye(2, 1), Z)
        longest = theory.step_size_limit(theory.Setting.of(truth, c=C, mu=MU), 2)
        state = State(truth, size / np.sqrt(d) * np.eye(d, 1), truth.V.copy())
        iterates = [(state.U, state.V)]
        for seed in range(3):
            items = np.random.default_rng(seed).integers(d, size=(1, 2))
            walks = Walks(state, items, size * longest / d)
            needs, level = walks.limits(), max(1.0, 2.0 * state.loss)
            if level * needs.c > C or max(needs[1:]) > MU:
                break
            state = State(truth, *(A[-1].mean(axis=(0, 1)) for A in (walks.U, walks.V)))
            iterates.append((state.U, state.V))
        else:
            yield d, size, iterates
