"""Assumptions 1 and 2 and (10): which functions and estimators have the constants they ask for."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Cases, Identity, Readings, Vacuous, statement
from linrep.claims.evidence import LOWER, PROVED
from linrep.claims.laws import at_most, equal, measured
from linrep.claims.measurements import Array, relative
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples.assumption2_minibatches import variance as of_one_sample
from linrep.papers.pflmf.model import drawn, rational
from linrep.problems import Objectives
from linrep.theory import pflmf as theory

KINDS = ("affine", "quadratic", "logistic", "softmax", "Huber")
RADII = (1.0, 10.0, 100.0, 1000.0)
N, D = 2, 2
FAR = 1e6  # a norm of v


def functions(kind, rng) -> Objectives:
    """Return the functions of two clients, curved at zero but for the affine ones."""
    if kind != "Huber":
        return drawn(rng, "own" if kind == "quadratic" else kind, N, D)
    A = 0.1 * rng.standard_normal((N, D))

    def huber(i, x):
        r = x - A[i]
        small = np.abs(r) <= 1.0
        return float(np.sum(np.where(small, 0.5 * r**2, np.abs(r) - 0.5))), np.clip(r, -1, 1)

    return lr.CustomObjectives(huber, n=N, d=D, smoothness=np.ones(N))


def quotients(problem, one, other) -> tuple[float, float]:
    """Return the two quotients of Assumption 1 between two pairs (U, V)."""
    moved = sum(np.linalg.norm(a - b) for a, b in zip(one, other, strict=True))
    first, second = problem.factor_gradients(*one), problem.factor_gradients(*other)
    return (
        float(np.linalg.norm(first.in_U - second.in_U) / moved),
        float(np.linalg.norm(first.in_V - second.in_V) / moved),
    )


def model_moved(problem, i, x, y, v) -> tuple[float, float]:
    """Return the quotient in U where client i's model goes from x to y, and what it is claimed.

    V has v in row i and zeros elsewhere, U goes from x v'/|v|^2 to y v'/|v|^2: the quotient is
    |v|^2/n times that of f_i's gradient between x and y.
    """
    V = np.zeros((problem.n, v.size))
    V[i] = v
    ends = [np.outer(each, v) / (v @ v) for each in (x, y)]
    moved = float(np.linalg.norm(ends[0] - ends[1]))
    first, second = (problem.factor_gradients(U, V).in_U for U in ends)
    models = np.zeros((2, problem.n, problem.d))
    models[:, i] = x, y
    own = problem.gradients(models[0])[i] - problem.gradients(models[1])[i]
    return (
        float(np.linalg.norm(first - second)) / moved,
        float(v @ v) / problem.n * float(np.linalg.norm(own) / np.linalg.norm(x - y)),
    )


@statement(
    "pflmf.assumption1",
    place="Assumption 1, with Theorem 1's lower bound",
    latex=r"\|\nabla_U(U_1,V_1)-\nabla_U(U_2,V_2)\|_F\le L_U(\|U_1-U_2\|_F+\|V_1-V_2\|_F)"
    r"\ \forall U_1,U_2,V_1,V_2,\ \text{and likewise }\nabla_V,L_V;\quad F\ge F^\star",
    plain="The gradients in U and V are Lipschitz, with constants that hold everywhere, and F has "
    "the lower bound that Theorem 1 asks for.",
    negative_control={"factor": 0.5},
)
def assumption1(budget, rng, *, factor=1.0):
    """Show what grows without bound, and measure constants on balls, times a factor.

    That nobody but constant functions has constants everywhere and a lower bound is proved; the
    proof's equation is checked.
    """

    def on_a_ball():
        """Yield quotients and the constants that hold there, which one reaches."""
        for kind, _ in product(KINDS, range(budget(20, 300))):
            problem = functions(kind, rng)
            state = rng.standard_normal((problem.d, 1)), rng.standard_normal((N, 1))
            radii = 10.0 ** rng.uniform(-2.0, 2.0, 2)
            known, ends = theory.local_smoothness(problem, *state, *radii), []
            for _ in range(2):
                moves = [rng.standard_normal(part.shape) for part in state]
                moved = zip(state, radii, moves, strict=True)
                ends.append(
                    [x + r * rng.random() * move / np.linalg.norm(move) for x, r, move in moved]
                )
            U, V = (part.tolist() for part in state)
            for found, L in zip(quotients(problem, *ends), known[:2], strict=True):
                yield found, L, {"kind": kind, "U": U, "V": V, "radii": radii.tolist()}
        one = lr.QuadraticObjectives(np.zeros((1, 1)))  # (uv)^2/2: the mixed derivative is 2 u v
        u, v = np.full((1, 1), 2.0), np.full((1, 1), 3.0)
        known = theory.local_smoothness(one, u, v, 0.0, 1e-6)
        yield quotients(one, (u, v), (u, v + 1e-6))[0], known.in_U, {"u": 2.0, "v": 3.0}

    cases = [(q, factor * L * (1.0 + 1e-9), at) for q, L, at in on_a_ball()]
    yield Cases(cases, quantity="quotient of Assumption 1", name="constants on a ball")

    # The equation that the proof rests on, and what follows from it.
    deviations, curved = [], []
    for kind in np.repeat(KINDS, budget(4, 40)).tolist():
        problem = functions(kind, rng)
        i, k = int(rng.integers(N)), int(rng.integers(1, 4))
        x, y = rng.standard_normal((2, problem.d))
        v = 10.0 ** rng.uniform(-3.0, 6.0) * rng.standard_normal(k)
        quotient, claimed = model_moved(problem, i, x, y, v)
        at = {"kind": kind, "client": i, "v": v.tolist(), "x": x.tolist(), "y": y.tolist()}
        deviations.append((relative(quotient, claimed), at))
        if claimed > 0.0:
            curved.append(claimed / float(v @ v))
    yield Identity(deviations, 1e-9, name="the model moved, V at one client")
    yield Vacuous(
        FAR**2 * min(curved),
        1.0,
        "L_U grows like |v|^2 unless all gradients are constant; "
        "affine functions that are bounded below are constant",
        name="constants everywhere, with a lower bound",
        strength=PROVED,
        quantity=f"L_U needed at |v| = {FAR:g}",
        measured_is=LOWER,
    )


def samples(rng, logistic, m=3):
    """Return losses of samples, and every client's loss on its j-th sample alone."""
    X = rng.standard_normal((N * m, D))
    y = rng.choice([-1.0, 1.0], N * m) if logistic else rng.standard_normal(N * m)
    make = lr.LogisticObjectives if logistic else lr.LeastSquaresObjectives
    rows = m * np.arange(N)
    singles = [make(lr.ClientData(X[rows + j], y[rows + j], np.arange(N + 1))) for j in range(m)]
    return make(lr.ClientData(X, y, m * np.arange(N + 1))), singles


def single_gradients(singles, U, V) -> Array:
    """Return each client's gradient on each of its samples, shape (m, n, d)."""
    return np.array([single.gradients(V @ U.T) for single in singles])


def batch_variance(singles, U, V) -> float:
    """Return E||. - mean||_F^2 of gradients in U of a sample each; clients are independent."""
    G = single_gradients(singles, U, V)
    G = (G - G.mean(axis=0)) / len(V)
    return float(np.mean(np.sum(G**2, axis=2) * np.sum(V**2, axis=1), axis=0).sum())


def state(rng, d=D):
    """Return random factors of rank 1."""
    return rng.standard_normal((d, 1)), rng.standard_normal((N, 1))


@statement(
    "pflmf.assumption2",
    place="Assumption 2",
    latex=r"\mathbb E\tilde\nabla=\nabla,\quad\mathbb E\|\tilde\nabla_U-\nabla_U\|^2\le\sigma^2,"
    r"\quad\mathbb E\|\tilde\nabla_V-\nabla_V\|^2\le\sigma^2\quad\text{for all }U,V",
    plain="There are unbiased stochastic gradients whose variance is bounded everywhere.",
    negative_control={"factor": 0.5},
    stronger={"factor": 0},
)
def assumption2(budget, rng, *, factor=1.0):
    """Enumerate noise of a fixed law, added to the gradient; its variance is to be factor sigma^2.

    An assumption says that there is an estimator. Which ones in use satisfy it are statements of
    their own.
    """
    means, variances = [], []
    for radius, kind in product(RADII, KINDS):
        problem, at = functions(kind, rng), {"kind": kind, "radius": radius}
        factors = (radius * part for part in state(rng, problem.d))
        for gradient in problem.factor_gradients(*factors)[1:]:
            # Equally likely along +-each axis, of variance 1.
            axes = np.eye(gradient.size).reshape(-1, *gradient.shape)
            noisy = gradient + np.concatenate([axes, -axes])
            means.append((relative(noisy.mean(axis=0), gradient, 1.0), at))
            variance = float(np.mean(np.sum((noisy - gradient) ** 2, axis=(1, 2))))
            # As exact as differences of gradients are.
            floor = 1.0 + 1e-4 * float(np.abs(gradient).max())
            variances.append((abs(variance - factor) / floor, at))
    yield Identity(means, 1e-12, name="additive noise, mean", strength=PROVED)
    yield Identity(variances, 1e-9, name="additive noise, variance sigma^2", strength=PROVED)


@statement(
    "pflmf.assumption2.minibatches",
    own=True,
    place="Assumption 2, of the estimator in Section 5",
    latex=r"\tilde\nabla\ \text{of a mini-batch}:\quad\mathbb E\|\tilde\nabla_U-\nabla_U\|^2\le"
    r"\sigma^2\quad\text{for all }U,V",
    plain="Mini-batch gradients, as in the experiments, have a variance that is bounded for all U "
    "and V.",
    holds_with={"power": 6.0},
    negative_control={"power": 5.0},
)
def minibatches(budget, rng, *, power=0.0):
    """Enumerate mini-batches of one of two samples; the variance may grow like this power."""

    def exactly():
        for radius in map(Fraction, (1, 10, 100, 1000)):
            grown = of_one_sample(Fraction(1)) * model.power(radius, power)
            at = {"x": [0, 1], "y": [0, 0], "u": str(radius), "v": str(radius)}
            yield "two samples, one client, exact", at_most(of_one_sample(radius) / grown, 1), at

    yield from measured(exactly(), quantity="variance over that at u = v = 1").values()


@statement(
    "pflmf.eq10",
    place="(10)",
    latex=r"\mathbb E_t\|\tilde\nabla_U\|_F^2\le\|\nabla_U\|_F^2+\sigma^2",
    plain="The second moment of a stochastic gradient is at most the gradient's plus the variance.",
    negative_control={"noise_factor": 0.5},
    stronger={"noise_factor": 0},
)
def eq10(budget, rng, *, noise_factor=1.0):
    """Compare both for all mini-batches and for noise; sigma is the least that Assumption 2 has."""

    def batches():
        """Yield E||.||^2 over all mini-batches of one sample, and |grad|^2 + variance."""
        for _ in range(budget(50, 2000)):
            problem, singles = samples(rng, bool(rng.integers(2)))
            U, V = (10.0 ** rng.uniform(-2.0, 2.0) * part for part in state(rng))
            G = single_gradients(singles, U, V) / N
            pairs = G[:, None, 0, :, None] * V[0] + G[None, :, 1, :, None] * V[1]
            found = float(np.mean(np.sum(pairs**2, axis=(2, 3))))
            exact = float(np.sum(problem.factor_gradients(U, V).in_U ** 2))
            stated = exact + noise_factor * batch_variance(singles, U, V)
            at = {"U": U.tolist(), "V": V.tolist()}
            yield "all mini-batches, at the estimator's own variance", equal(found, stated), at

    def either():
        """Yield both for noise I or -I, of squared Frobenius norm 2 and of spectral norm 1."""
        gradient, both = [[Fraction(1), Fraction(2)], [Fraction(0), Fraction(1)]], (0, 1)
        moment, plain = (
            sum((gradient[i][j] + s * (i == j)) ** 2 for i in both for j in both for s in signs)
            / len(signs)
            for signs in ((-1, 1), (0,))
        )
        at = {"grad_U": [[1, 2], [0, 1]], "noise": "I or -I, each with probability 1/2"}
        for norm, square in (("Frobenius", 2), ("spectral", 1)):
            yield (
                f"sigma in the {norm} norm",
                at_most(moment, plain + rational(noise_factor) * square),
                at,
            )

    yield from measured(batches(), tolerance=1e-9, strength=PROVED).values()
    yield Readings(
        list(measured(either(), quantity="second moment", strength=PROVED).values()),
        name="noise I or -I, exact",
        phrase="the norm in Assumption 2, which has no index",
    )
