"""Appendix A: the lifted iterate, what it measures, and how fast it settles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linrep.algorithms.flute import flute
from linrep.claims import Cases, Fact, Identity, Together, search, statement
from linrep.claims._parts import Array, identities, readings
from linrep.problems import ClientData, LowRankRegression
from linrep.theory import flute_lift as lifting
from linrep.theory.flute import Spectrum

EXACT = 1e-12
SHAPES = ("d < n", "d = n", "d > n")


class Case(NamedTuple):
    """A truth with samples, a state, and a step size for it."""

    truth: LowRankRegression
    data: ClientData
    B: Array
    W: Array
    eta: float

    @property
    def settings(self):
        """Plain values for a counterexample."""
        truth, k = self.truth, self.B.shape[1]
        sizes = {"n": truth.n, "d": truth.d, "k": k, "m": int(self.data.m[0])}
        return {**sizes, "step size": self.eta, "Phi": truth.Phi.tolist()}


def draw_case(rng, shape):
    """Draw a case with d below, at or above n: any rank, ties, few samples, six units of Phi."""
    low, high = sorted(rng.choice(np.arange(1, 9), 2, replace=False).tolist())
    n, d = {"d < n": (high, low), "d = n": (high, high), "d > n": (low, high)}[shape]
    unit = 10.0 ** int(rng.integers(-3, 4))
    values = (None, [1.0], [2.0, 2.0][: min(n, d)])[rng.integers(3)]
    truth = LowRankRegression.random(
        n=n, d=d, singular_values=values, noise=rng.choice([0.0, 0.3]), rng=rng
    )
    truth = LowRankRegression(unit * truth.Phi, unit * truth.noise)
    k = int(rng.integers(1, min(n, d) + 1))
    B, W = (np.sqrt(unit) * rng.standard_normal((side, k)) for side in (d, n))
    return Case(truth, truth.draw(int(rng.integers(1, 11)), rng=rng), B, W, 0.05 / unit)


def after_round(case, **options):
    """Return B and W after one round of FLUTE on the case's samples."""
    k = case.B.shape[1]
    trace = flute(case.data, k=k, rounds=1, start=(case.B, case.W), **options)
    return trace.state["B"], trace.state["W"]


def deviation_from_13(case, **options):
    """Return how far a round, lifted, is from (13), R being that of (11) and (12)."""
    noise = lifting.discrepancy(case.data, case.truth.Phi, case.B, case.W, case.eta)
    Theta, after, R = (
        lifting.lift(case.truth, *pair)
        for pair in ((case.B, case.W), after_round(case, **options), noise)
    )
    eigenvalues = Spectrum.of(case.truth, case.B.shape[1]).eigenvalues
    return _deviation((Theta, after, R), eigenvalues, case.eta)


def _deviation(lifted, eigenvalues, eta, linear=0.5, cubic=0.5):
    """Return how far (Theta, what follows it, R) are from (13), its coefficients at eta given."""
    Theta, after, R = lifted
    drift = linear * eigenvalues[:, None] * Theta - cubic * Theta @ (Theta.T @ Theta)
    predicted = Theta + eta * drift + R
    return float(np.linalg.norm(after - predicted) / np.linalg.norm(predicted))


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
    rotated = [lifting.lift(case.truth, *pair) for pair in pairs]
    whole = [lifting.lift(square, *pad(pair)) for pair in pairs]
    eta = case.eta
    yield "rotated by U and V, then padded", _deviation(rotated, eigenvalues, eta)
    yield "padded, then rotated by U_* and V_*", _deviation(whole, eigenvalues, eta)
    mixed = _deviation([*rotated[:2], whole[2]], eigenvalues, eta)
    yield "Theta the first way, R the second, Phi_* decomposed anew", mixed


#: What reproduces (13) at eta_r = eta: settings, and those with them that depend on n.
CONVENTIONS = {
    "half losses, summed (A.1)": lambda n: {"step_size": 1.0},
    "losses, summed (5), eta_l = eta/2": lambda n: {"loss": "full", "step_size": 0.5},
    "losses, summed (5), eta = 2 eta_l = 2 eta_r, gammas doubled": lambda n: {
        "loss": "full", "step_size": 0.5, "regularizer_step_size": 0.5,
        "gamma1": 0.5, "gamma2": 0.25,
    },
    "losses averaged (4), eta_l = n eta/2": lambda n: {
        "loss": "full", "aggregate": "mean", "step_size": 0.5 * n,
    },
    "half losses averaged, eta_l = n eta": lambda n: {"aggregate": "mean", "step_size": 1.0 * n},
}  # fmt: skip
#: Settings as printed, eta_l = eta_r = eta, gamma1 = 1/4, gamma2 = 1/8, that do not.
PRINTED = {
    "(5) as printed": {"loss": "full"},
    "(4) as printed": {"loss": "full", "aggregate": "mean"},
}


def in_units(settings, eta):
    """Return settings with both step sizes, given as multiples of eta, multiplied out."""
    steps = {"step_size": 1.0, "regularizer_step_size": 1.0} | settings
    return {**steps, **{name: eta * steps[name] for name in steps if name.endswith("step_size")}}


@statement(
    "flute.eq13",
    place="Appendix A.1, (11)-(15)",
    kind="identity",
    latex=r"\Theta^{t+1} = \Theta^t + \tfrac\eta2\tilde\Lambda\Theta^t - \tfrac\eta2"
    r"\Theta^t(\Theta^t)^\top\Theta^t + R^{t+1}",
    plain="A round of FLUTE, lifted, is one cubic map for all shapes, plus sampling noise",
    negative_control={"cubic": 0.45},
)
def eq13(budget, rng, *, linear=0.5, cubic=0.5):
    """Run single rounds of FLUTE under each convention of its gradients and lift them."""
    exact: dict[str, dict] = {name: {shape: [] for shape in SHAPES} for name in CONVENTIONS}
    other: dict[str, list] = {name: [] for name in PRINTED}
    noises: list = []
    paddings: dict[str, list] = {}
    for shape in SHAPES:
        for _ in range(budget(12, 50, 400)):
            case = draw_case(rng, shape)
            where, eta = case.settings, case.eta
            noise = _printed_noise(case)
            pairs = (case.B, case.W), noise
            Theta, R = (lifting.lift(case.truth, *pair) for pair in pairs)
            eigenvalues = Spectrum.of(case.truth, case.B.shape[1]).eigenvalues
            for name, settings in CONVENTIONS.items():
                after = after_round(case, **in_units(settings(case.truth.n), eta))
                lifted = lifting.lift(case.truth, *after)
                found = _deviation((Theta, lifted, R), eigenvalues, eta, linear, cubic)
                exact[name][shape].append((found, where))
            for name, plain in PRINTED.items():
                other[name].append(deviation_from_13(case, **in_units(plain, eta)))
            short = lifting.discrepancy(case.data, case.truth.Phi, case.B, case.W, eta)
            scale = sum(np.abs(A).max() for A in (*short, case.B, case.W))
            gap = max(np.abs(a - b).max() for a, b in zip(noise, short, strict=True))
            noises.append((gap / scale, where))
            after = after_round(case, **in_units({}, eta))
            for name, found in _paddings(case, after, noise):
                paddings.setdefault(name, []).append((found, where))
    for name, found in exact.items():
        yield Together(identities(found, EXACT), name=name)
    yield Identity(noises, EXACT, name="(11) and (12)")
    yield readings(paddings, EXACT, name="padding and rotation")
    for name, values in other.items():
        yield Fact(f"median relative deviation from (13): {name}", float(np.median(values)))


# What Theta measures


def _terms(truth, k, B, W):
    """Return the squared errors of BB', WW' and BW, models of W in rows."""
    best = truth.best(k)
    pairs = (B, B, best.B, best.B), (W, W, best.W, best.W), (B, W, best.B, best.W)
    return [float(np.sum((A @ C.T - P @ Q.T) ** 2)) for A, C, P, Q in pairs]


@statement(
    "flute.theta_decomposition",
    place="implied by Lemma A.18",
    kind="identity",
    latex=r"\|\Theta\Theta^\top - \mathrm{diag}(\tilde\Lambda_k, 0)\|_F^2 ="
    r" \|BB^\top - U_k\Lambda_kU_k^\top\|_F^2 + \|W^\top W - V_k\Lambda_kV_k^\top\|_F^2"
    r" + 2\|BW - \Phi_k\|_F^2",
    plain="The error of Theta splits into those of BB', W'W and, twice, BW",
    negative_control={"weight": 1.9},
)
def theta_decomposition(budget, rng, *, weight=2.0):
    """Compare both sides at random states and near the optimum, in all shapes."""
    parts: dict[str, list] = {"random states": [], "near the optimum": []}
    for _ in range(budget(20, 100, 1000)):
        for shape in SHAPES:
            case = draw_case(rng, shape)
            k, best = case.B.shape[1], case.truth.best(case.B.shape[1])
            small = 10.0 ** rng.uniform(-6.0, 0.0)
            states = (case.B, case.W), (best.B + small * case.B, best.W + small * case.W)
            for name, (B, W) in zip(parts, states, strict=True):
                Theta = lifting.lift(case.truth, B, W)
                spectrum = Spectrum.of(case.truth, k)
                left = lifting.product_error(Theta, spectrum)
                in_B, in_W, in_models = _terms(case.truth, k, B, W)
                right = np.sqrt(in_B + in_W + weight * in_models)
                # Both are differences of matrices of this size.
                size = np.sum(Theta**2) + spectrum.first
                parts[name].append((abs(left - right) / size, case.settings))
    yield from identities(parts, EXACT)


def _both_sides(truth, k, B, W, constant):
    left = np.linalg.norm(B @ W.T - truth.best(k).Phi)
    error = lifting.product_error(lifting.lift(truth, B, W), Spectrum.of(truth, k))
    return float(left), float(constant * error)


@statement(
    "flute.lemmaA18",
    place="Lemma A.18",
    kind="deterministic inequality",
    latex=r"\|\Theta\Theta^\top - \mathrm{diag}(\tilde\Lambda_k, 0)\|_F \le \delta \Rightarrow"
    r" \|BW - \mathrm{diag}(\Lambda_k, 0)\|_F \le \delta",
    plain="The error of BW is at most that of Theta",
    negative_control={"constant": 0.7},
)
def lemmaA18(budget, rng, *, constant=1.0):
    """Search for states whose models are further off, and try heads of the wrong sign."""

    def sides(shape, x):
        d, n, k = shape["d"], shape["n"], shape["k"]
        values, rest = np.abs(x[: min(d, n)]), x[min(d, n) :]
        truth = LowRankRegression(np.eye(d, min(d, n)) * values @ np.eye(min(d, n), n))
        B, W = rest[: d * k].reshape(d, k), rest[d * k :].reshape(n, k)
        return _both_sides(truth, k, B, W, constant)

    sizes = (1, 1, 1), (2, 2, 1), (2, 3, 2), (4, 3, 3)
    yield search(
        sides, [{"d": d, "n": n, "k": k} for d, n, k in sizes],
        lambda s: min(s["d"], s["n"]) + (s["d"] + s["n"]) * s["k"], budget, rng, name="search",
    )  # fmt: skip
    opposite, used = [], []
    for _ in range(budget(10, 40, 200)):
        shape = SHAPES[rng.integers(3)]
        case = draw_case(rng, shape)
        k, best = case.B.shape[1], case.truth.best(case.B.shape[1])
        left, right = _both_sides(case.truth, k, best.B, -best.W, constant)
        used.append(left / right * constant)
        opposite.append((left * (1.0 - EXACT), right, case.settings))
    yield Cases(opposite, name="heads of the wrong sign")
    yield Fact("largest error of BW over that of Theta, heads of the wrong sign", max(used))


@statement(
    "flute.lemmaA18.proof",
    place="Lemma A.18, last step of its proof",
    kind="deterministic inequality",
    latex=r"\|BW + W^\top B^\top - 2\,\mathrm{diag}(\Lambda_k, 0)\|_F"
    r" = 2\|BW - \mathrm{diag}(\Lambda_k, 0)\|_F",
    plain="Adding its transpose doubles the norm of BW - diag",
    negative_control={"directions": ("at least",)},
    holds_with={"directions": ("at most",)},
)
def lemmaA18_step(budget, rng, *, directions=("at least", "at most")):
    """Search for matrices X = BW - diag on which either half of the equation is violated."""
    for direction in directions:

        def sides(shape, x, direction=direction):
            X = x.reshape(shape["d"], shape["d"])
            doubled, twice = float(np.linalg.norm(X + X.T)), float(2.0 * np.linalg.norm(X))
            return (twice, doubled) if direction == "at least" else (doubled, twice)

        yield search(
            sides, [{"d": d} for d in (1, 2, 3)], lambda shape: shape["d"] ** 2,
            budget, rng, name=f"|X + X'| {direction} 2|X|",
        )  # fmt: skip


statement(
    "flute.lemmaA18.proof.corrected",
    place="Lemma A.18, its proof",
    kind="deterministic inequality",
    latex=r"\sqrt2\,\|BW - \mathrm{diag}(\Lambda_k, 0)\|_F \le"
    r" \|\Theta\Theta^\top - \mathrm{diag}(\tilde\Lambda_k, 0)\|_F",
    plain="The blocks of Theta Theta' hold the error of BW twice, whether BW is symmetric or not",
    constants={"constant": 1.0 / 2.0**0.5},
    negative_control={"constant": 1.0 / 1.43},
    corrects="flute.lemmaA18.proof",
)(lemmaA18.check)
