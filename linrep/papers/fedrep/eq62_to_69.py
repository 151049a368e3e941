"""(62) to (69), in the proof of Lemma 6: what a round shrinks."""

from fractions import Fraction as Q
from typing import NamedTuple

import numpy as np
from numpy.linalg import norm

from linrep.claims import search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines
from linrep.claims.measurements import Array
from linrep.theory import fedrep as theory
from linrep.theory import fedrep_lemmas as lemmas


class Heads(NamedTuple):
    """W*, D = B*'B, F, delta, the distance, the step size over its limit."""

    W: Array
    D: Array
    F: Array
    delta: float
    distance: float
    fraction: float


def read(reader, shape):
    """Return the heads that numbers stand for, F as large as it may be."""
    n, k = shape["n"], shape["k"]
    W, F = reader.numbers(n, k), reader.numbers(n, k)
    sines = np.sin(reader.numbers(k))
    fraction, delta = 1.0 / (1.0 + reader.number() ** 2), 0.5 / (1.0 + reader.number() ** 2)
    if not W.any():
        return None
    far = float(np.abs(sines).max())
    limit = delta / (1.0 - delta) * norm(W, 2) * far
    F = F * (limit / norm(F, 2)) if F.any() else F
    return Heads(W, np.diag(np.sqrt(1.0 - sines**2)), F, delta, far, fraction)


def least(M):
    """Return the least singular value, 0 where there are fewer rows than columns."""
    return np.linalg.svd(M, compute_uv=False)[-1] if M.shape[0] >= M.shape[1] else 0.0


@lines("fedrep.eq67", Region(delta=(0, Q(1, 2))), steps=["(62), heads"])
def display62(delta, *, factor=4):
    """Make heads at most twice as large."""
    return {"(62), heads": at_most((1 + delta / (1 - delta)) ** 2, factor)}


@lines("fedrep.eq67", Region(
    delta=(0, Open(1)), other=lambda delta: (0, Open(1 - delta)), s=(1, None)  # sigma_max^2
))  # fmt: skip
def display69(delta, other, s):
    """Join both deviations, for a sum below 1."""
    both = delta + other
    return {"(69)": at_most(2 * s * delta / (1 - delta) + other, 2 * s * both / (1 - both))}


@statement(
    "fedrep.eq67",
    place="(62)-(69), in the proof of Lemma 6",
    latex=r"\|F\|_2 \le \tfrac{\delta_k}{1-\delta_k}\|W^*\|_2\,\mathrm{dist},\ \delta_k \le"
    r"\tfrac12,\ \eta \le \tfrac{1}{4\sigma_{\max}^2} \implies \lambda_{\max}(W^\top W) \le"
    r"4\|W^*\|_2^2,\ \Big\|I - \frac{\eta}{rn}W^\top W\Big\|_2 \le 1 - \eta\sigma_{\min}^2"
    r"\sigma_{\min}^2(B^{*\top}B) + 2\eta\frac{\delta_k}{1-\delta_k}\sigma_{\max}^2",
    plain="With heads near W*B*'B a step at fixed heads shrinks the distance: the norm of I - "
    "(eta/rn) W'W is at most that of (67).",
    stronger={"factor": -1, "cross": -1},
    negative_control={"cross": 0.5},
)
def eq67(budget, rng, *, factor=4.0, cross=2.0):
    """Search over W*, angles, step sizes and F at its limit; no use is made of (64)'s condition.

    (67) is true with 1 in place of 2 as well.
    """

    def largest(at):
        return norm(at.W @ at.D - at.F, 2) ** 2, factor * norm(at.W, 2) ** 2

    def weyl(at):  # signs changed: it bounds an eigenvalue from below
        if len(at.W) < len(at.D):
            return None
        A, F = at.W @ at.D, at.F
        scale = 2.0 * norm(A, 2) ** 2 + 2.0 * norm(F, 2) ** 2
        claimed = least(A) ** 2 - 2.0 * norm(F.T @ A, 2) + least(F) ** 2
        return scale - least(A - F) ** 2, scale - claimed

    def apart(at):  # without 1 and eta/rn: W* and D apart, F'F left out
        if len(at.W) < len(at.D):
            return None
        A, F = at.W @ at.D, at.F
        scale = 2.0 * norm(at.W, 2) ** 2  # so that nothing cancels
        crossed = 2.0 * norm(F.T @ A, 2) - least(F) ** 2
        claimed = 2.0 * norm(F, 2) * norm(A, 2) - least(at.W) ** 2 * least(at.D) ** 2
        return scale - least(A) ** 2 + crossed, scale + claimed

    def by_the_lemma(at):
        bound = at.delta / (1.0 - at.delta) * norm(at.W, 2) ** 2
        return norm(at.F, 2) * norm(at.W @ at.D, 2), bound

    def shrinking(at):
        root = np.sqrt(len(at.W))
        eta = at.fraction * float(theory.step_size_limit(norm(at.W, 2) / root))
        heads = at.W @ at.D - at.F
        shrunk = np.eye(len(at.D)) - eta / len(at.W) * heads.T @ heads
        sizes = {"step_size": eta, "sigma_min": least(at.W) / root, "distance": at.distance}
        right, without = (
            float(lemmas.shrinking_bound(delta, **sizes, sigma_max=norm(at.W, 2) / root))
            for delta in (at.delta, 0.0)
        )
        return norm(shrunk, 2), without + 0.5 * cross * (right - without)

    shapes = [{"n": 1, "k": 1}, {"n": 2, "k": 2}, {"n": 4, "k": 2}, {"n": 5, "k": 4}]
    # Angles 0 and 90 degrees, and F of the size of W* in the direction of the first: (62) is sharp.
    sharp = np.array([1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, np.pi / 2, 0.0, 0.0])
    for name, sides in (
        ("(62)", largest),
        ("(64) without its condition", weyl),
        ("(65)", apart),
        ("(66)", by_the_lemma),
        ("(67)", shrinking),
    ):
        yield search_instances(
            lambda at, sides=sides: tuple(map(float, sides(at) or ())) or None,
            shapes[: budget(2, 4)], read, budget, rng, name=name, known=[(shapes[1], sharp)],
            strength=PROVED,
        )  # fmt: skip
    yield display69.measure()
