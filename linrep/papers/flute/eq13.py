"""(11) to (15): a round of FLUTE, lifted."""

import numpy as np

from linrep.claims import Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import equal, measured
from linrep.papers.flute.lifted import (
    CONVENTIONS,
    EXACT,
    SHAPES,
    after_round,
    discrepancy,
    draw_case,
    predicted,
)
from linrep.papers.flute.model import FULL
from linrep.problems import LowRankRegression
from linrep.theory import flute_lift

#: Where padding meets rotation, as the displays can be read.
PADDINGS = (
    "rotated by U and V, then padded",
    "padded, then rotated by U_* and V_*",
    "Theta the first way, R the second, Phi_* decomposed anew",
)


def printed_noise(case):
    """Return Q of (11) and the transpose of Q~ of (12), term by term."""
    Q, Q_heads = np.zeros_like(case.B), np.zeros_like(case.W)
    eta = case.eta
    for i, w in enumerate(case.W):
        X, y = case.data.client(i)
        phi, N = case.truth.Phi[:, i], len(y)
        e, noise = case.B @ w - phi, y - X @ phi
        Q += eta * np.outer(e, w) - eta * np.outer(X.T @ X @ e / N, w)
        Q += eta * np.outer(X.T @ noise, w) / N
        Q_heads[i] = eta * case.B.T @ e - eta / N * case.B.T @ X.T @ X @ e
        Q_heads[i] += eta / N * case.B.T @ X.T @ noise
    return Q, Q_heads


def padded(case, pair):
    """Return a pair of factors padded with zeros and lifted for the square truth Phi_*."""
    n, d, size = case.truth.n, case.truth.d, case.spectrum.size
    Phi = np.zeros((size, size))
    Phi[:d, :n] = case.truth.Phi
    square = (np.vstack([A, np.zeros((size - len(A), A.shape[1]))]) for A in pair)
    return flute_lift.lift(LowRankRegression(Phi), *square)


@statement(
    "flute.eq13",
    place="Appendix A.1, (11)-(15)",
    hypotheses=(FULL,),
    latex=r"\Theta^{t+1} = \Theta^t + \tfrac\eta2\tilde\Lambda\Theta^t - \tfrac\eta2"
    r"\Theta^t(\Theta^t)^\top\Theta^t + R^{t+1}",
    plain="A round of FLUTE, lifted, is one cubic map for all shapes, plus sampling noise.",
    negative_control={"cubic": 0.45},
    stronger={"linear": 0, "cubic": 0},
)
def eq13(budget, rng, *, linear=0.5, cubic=0.5):
    """Run single rounds of FLUTE under each convention of its gradients and lift them."""

    def found(case):
        def next_by_13(Theta, R, *coefficients):
            return predicted(Theta, R, case.spectrum.eigenvalues, case.eta, *coefficients)

        state, noise, short = (case.B, case.W), printed_noise(case), discrepancy(case)
        Theta, R = case.lift(*state), case.lift(*noise)
        for name, settings in CONVENTIONS.items():
            after = case.lift(*after_round(case, **settings(case.truth.n)))
            yield name, equal(after, next_by_13(Theta, R, linear, cubic))
        for A, Q, same in zip(state, noise, short, strict=True):
            yield "(11) and (12)", equal(A + Q, A + same)
        after = after_round(case)
        rotated, whole = case.lift(*after), padded(case, noise)
        yield PADDINGS[0], equal(rotated, next_by_13(Theta, R))
        yield PADDINGS[1], equal(padded(case, after), next_by_13(padded(case, state), whole))
        yield PADDINGS[2], equal(rotated, next_by_13(Theta, whole))

    cases = (draw_case(rng, shape) for shape in SHAPES for _ in range(budget(12, 50, 400)))
    each = ((*one, case.settings) for case in cases for one in found(case))
    parts = measured(each, tolerance=EXACT, strength=PROVED)
    readings = [parts.pop(name) for name in PADDINGS]
    yield from parts.values()
    yield Readings(
        readings, name="padding and rotation",
        phrase="Theta of B~ and W~ padded, R of U_*'Q_* and Q~_* V_*",
    )  # fmt: skip
