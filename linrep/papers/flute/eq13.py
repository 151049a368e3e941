"""(11) to (15): a round of FLUTE, lifted."""

from __future__ import annotations

import numpy as np

from linrep.claims import Fact, Identity, Readings, Together, proved, statement
from linrep.claims.deviations import identities
from linrep.claims.evidence import PROVED
from linrep.papers.flute import _lifted
from linrep.papers.flute._hypotheses import FULL
from linrep.problems import LowRankRegression
from linrep.theory import flute_lift
from linrep.theory.flute import Spectrum


def _printed_noise(case):
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


def _padded(case):
    """Return the square truth Phi_* and a function that pads a pair of factors with zeros."""
    size = max(case.truth.n, case.truth.d)
    Phi = np.zeros((size, size))
    Phi[: case.truth.d, : case.truth.n] = case.truth.Phi

    def pad(pair):
        return tuple(np.vstack([A, np.zeros((size - len(A), A.shape[1]))]) for A in pair)

    return LowRankRegression(Phi), pad


def _paddings(case, after, noise):
    """Yield each reading of where padding meets rotation with its deviation from (13)."""
    square, pad = _padded(case)
    eigenvalues = Spectrum.of(case.truth, case.B.shape[1]).eigenvalues
    pairs = (case.B, case.W), after, noise
    rotated = [flute_lift.lift(case.truth, *pair) for pair in pairs]
    whole = [flute_lift.lift(square, *pad(pair)) for pair in pairs]
    eta = case.eta
    yield "rotated by U and V, then padded", _lifted.deviation(rotated, eigenvalues, eta)
    yield "padded, then rotated by U_* and V_*", _lifted.deviation(whole, eigenvalues, eta)
    mixed = _lifted.deviation([*rotated[:2], whole[2]], eigenvalues, eta)
    yield "Theta the first way, R the second, Phi_* decomposed anew", mixed


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
    exact: dict[str, dict] = {
        name: {shape: [] for shape in _lifted.SHAPES} for name in _lifted.CONVENTIONS
    }
    other: dict[str, list] = {name: [] for name in _lifted.PRINTED}
    noises: list = []
    paddings: dict[str, list] = {}
    for shape in _lifted.SHAPES:
        for _ in range(budget(12, 50, 400)):
            case = _lifted.draw_case(rng, shape)
            where, eta = case.settings, case.eta
            noise = _printed_noise(case)
            pairs = (case.B, case.W), noise
            Theta, R = (flute_lift.lift(case.truth, *pair) for pair in pairs)
            eigenvalues = Spectrum.of(case.truth, case.B.shape[1]).eigenvalues
            for name, settings in _lifted.CONVENTIONS.items():
                after = _lifted.after_round(case, **_lifted.in_units(settings(case.truth.n), eta))
                lifted = flute_lift.lift(case.truth, *after)
                found = _lifted.deviation((Theta, lifted, R), eigenvalues, eta, linear, cubic)
                exact[name][shape].append((found, where))
            for name, plain in _lifted.PRINTED.items():
                other[name].append(_lifted.deviation_from_13(case, **_lifted.in_units(plain, eta)))
            short = flute_lift.discrepancy(case.data, case.truth.Phi, case.B, case.W, eta)
            scale = sum(np.abs(A).max() for A in (*short, case.B, case.W))
            gap = max(np.abs(a - b).max() for a, b in zip(noise, short, strict=True))
            noises.append((gap / scale, where))
            after = _lifted.after_round(case, **_lifted.in_units({}, eta))
            for name, found in _paddings(case, after, noise):
                paddings.setdefault(name, []).append((found, where))
    for name, found in exact.items():
        yield proved(Together(identities(found, _lifted.EXACT), name=name))
    yield Identity(noises, _lifted.EXACT, name="(11) and (12)", strength=PROVED)
    yield proved(
        Readings(
            identities(paddings, _lifted.EXACT),
            name="padding and rotation",
            phrase="Theta of B~ and W~ padded, R of U_*'Q_* and Q~_* V_*",
        )
    )
    for name, values in other.items():
        yield Fact(f"median relative deviation from (13): {name}", float(np.median(values)))
