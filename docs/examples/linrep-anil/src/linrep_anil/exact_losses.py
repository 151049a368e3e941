"""Exact losses: the exponential rate, one round, and what adaptation of the head is good for."""

from typing import NamedTuple

import numpy as np

from linrep.claims import Cases, Fact, Identity, Paired, proved, search_instances, statement
from linrep.claims.laws import Region, at_most, lines
from linrep_anil import population


@statement(
    "anil.exponential",
    place="Abstract",
    latex=r"\mathrm{dist}_t \le \big(1 - \tfrac12 \alpha\beta(1 - \mathrm{dist}_0^2)\mu^2\big)^t "
    r"\mathrm{dist}_0",
    plain="On exact losses ANIL and FO-ANIL approach the representation exponentially fast: from "
    "alpha B'B = I and w = 0, by a factor of at most 1 - alpha beta (1 - dist_0^2) mu^2/2 a round "
    "on average, where mu^2 is the smallest eigenvalue of the mean of w w', whose largest is 1, "
    "alpha >= 1 and alpha beta <= 1/2.",
    negative_control={"share": 2.0},
    stronger={"share": 1},
)
def exponential(budget, rng, *, share=0.5):
    """Follow both; the abstract has the rate without constants: these and the steps are ours."""
    cases, first = [], []
    for _ in range(budget(40, 400)):
        at = population.draw(rng)
        least = at.inner * at.outer * np.linalg.eigvalsh(at.spread)[0]
        for method in ("ANIL", "FO-ANIL"):
            found = population.distances(at, 80, method)
            rate = 1.0 - share * least * (1.0 - found[0] ** 2)
            for t in np.flatnonzero(found > 1e-9)[1:]:
                at_t = {"method": method, "t": int(t), "dist_0": found[0], "least": least}
                cases.append((found[t], rate**t * found[0], at_t))
        first.append((1.0 - found[1] / found[0]) / (least * (1.0 - found[0] ** 2)))
    yield Cases(cases)
    yield Fact(
        "least decrease in the first round, relative to alpha beta mu^2 (1 - dist_0^2)", min(first)
    )


@statement(
    "anil.maml",
    latex=r"w_t = 0, \qquad B_t^{\text{MAML}} = B_t^{\text{ANIL}}",
    plain="On exact losses, of tasks in pairs of opposite models, MAML from w = 0 takes the steps "
    "of ANIL, and FO-MAML those of FO-ANIL, in all rounds.",
    negative_control={"paired": False},
)
def maml(budget, rng, *, paired=True):
    """Compare a round from any B, and count where MAML is past ANIL's bound without such pairs."""
    for first_order, pair in ((False, ("ANIL", "MAML")), (True, ("FO-ANIL", "FO-MAML"))):
        apart, missed = [], 0
        for _ in range(budget(20, 200)):
            at = population.draw(rng)
            heads = np.vstack([at.heads, -at.heads]) if paired else at.heads
            B, models = rng.standard_normal(at.start.shape), heads @ at.target.T
            (anil, _), (other, in_w) = (
                population.outer_gradients(B, np.zeros(B.shape[1]), models, at.inner, name)
                for name in pair
            )
            size = at.inner * np.linalg.norm(B, 2) * np.linalg.norm(models) ** 2
            size *= (1.0 + at.inner * np.linalg.norm(B, 2) ** 2) ** 2
            gap = max(np.abs(anil - other).max(), np.abs(in_w).max()) / size
            apart.append((gap, {"B": B.tolist(), "alpha": at.inner}))
            found = population.distances(at, 80, pair[1])
            least = at.inner * at.outer * np.linalg.eigvalsh(at.spread)[0]
            missed += not found[-1] <= (1.0 - 0.5 * least * (1 - found[0] ** 2)) ** 80 * found[0]
        name = "first order" if first_order else "exact"
        yield proved(Identity(apart, name=name))
        yield Fact(f"{name}: share of tasks without pairs that are past ANIL's bound in 80 rounds",
                   missed / len(apart))  # fmt: skip


class Round(NamedTuple):
    """An instance: alpha = 1, so that B is orthonormal, and beta times the largest eigenvalue."""

    B: np.ndarray
    target: np.ndarray
    heads: np.ndarray
    step: float


def read(reader, shape):
    """Return an instance."""
    d, k = shape["d"], shape["k"]
    frames = reader.frame(d, k), reader.frame(d, k)
    return Round(*frames, reader.numbers(k, k), reader.between(0.0, 1.0))


@statement(
    "anil.round",
    latex=r"\mathrm{dist}(B_+) \le \big(1 - \alpha\beta\mu^2(1 - \mathrm{dist}(B)^2)\big)\,"
    r"\mathrm{dist}(B)",
    plain="A round of ANIL or MAML on exact losses, from alpha B'B = I and w = 0, multiplies the "
    "distance by at most 1 - alpha beta mu^2 (1 - dist^2), if alpha beta is at most the inverse of "
    "the largest eigenvalue of the mean of w w', of which mu^2 is the smallest.",
    negative_control={"share": 1.1},
    stronger={"share": 1},
)
def one_round(budget, rng, *, share=1.0):
    """Search for a round that gains less; the four methods agree in it."""

    def sides(at):
        spread = np.linalg.eigvalsh(at.heads.T @ at.heads / len(at.heads))
        if spread[-1] < 1e-9:
            return None
        beta, models = at.step / spread[-1], at.heads @ at.target.T
        B, w = at.B, np.zeros(at.B.shape[1])
        before = population.distance(B, at.target)
        if before < 1e-6:  # of which rounding leaves few digits
            return None
        after = population.distance(
            B - beta * population.outer_gradients(B, w, models, 1.0)[0], at.target
        )
        return after, (1.0 - share * beta * spread[0] * (1.0 - before**2)) * before

    shapes = [{"d": 2, "k": 1}, {"d": 3, "k": 2}, {"d": 6, "k": 3}]
    yield proved(search_instances(sides, shapes, read, budget, rng))


@lines("anil.round", Region(s=(0, 1), g=(0, 1)))
def rank_one(s, g, *, share=1):
    """The squared sine after a round of step g, from its square s before; B has a new length."""
    c = 1 - s
    after, length = (1 - g * c) ** 2 * s, 1 + g**2 * c * s
    return {"rank one": at_most(after, (1 - share * g * c) ** 2 * s * length)}


@statement(
    "anil.adaptation",
    place="Abstract",
    plain="What makes FO-ANIL find the representation is that clients adapt the head: gradient "
    "descent on the mean loss of one shared head, with as many rounds and the same steps, ends "
    "further from it.",
    negative_control={"swapped": True},
)
def adaptation(budget, rng, *, swapped=False):
    """Pair both by setting; the steps are those of FO-ANIL."""
    pairs = []
    for _ in range(budget(40, 200)):
        at = population.draw(rng)
        B, w, mean = at.start, np.zeros(at.start.shape[1]), at.models.mean(axis=0)
        for _ in range(300):
            rest = B @ w - mean
            B, w = B - at.outer * np.outer(rest, w), w - at.outer * B.T @ rest
        pairs.append((population.distances(at, 300)[-1], population.distance(B, at.target)))
    adapted, shared = np.transpose(pairs)
    yield Paired(*((shared, adapted) if swapped else (adapted, shared)))
    yield Fact("median distance with a shared head, relative to the one with adapted heads",
               float(np.median(shared) / np.median(adapted)))  # fmt: skip
