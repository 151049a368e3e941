"""Lemma A.18, and what Theta measures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linrep.claims import Cases, Fact, proved, search_instances, statement
from linrep.claims.deviations import identities
from linrep.claims.evidence import PROVED
from linrep.papers.flute._lifted import EXACT, SHAPES, draw_case
from linrep.papers.flute.counterexamples import lemmaa18_proof as step
from linrep.problems import LowRankRegression
from linrep.theory.flute import Spectrum
from linrep.theory.flute_lift import lift, product_error


def _terms(truth, k, B, W):
    """Return the squared errors of BB', WW' and BW, models of W in rows."""
    best = truth.best(k)
    pairs = (B, B, best.B, best.B), (W, W, best.W, best.W), (B, W, best.B, best.W)
    return [float(np.sum((A @ C.T - P @ Q.T) ** 2)) for A, C, P, Q in pairs]


@statement(
    "flute.theta_decomposition",
    own=True,
    place="Lemma A.18, the identity behind it",
    latex=r"\|\Theta\Theta^\top - \mathrm{diag}(\tilde\Lambda_k, 0)\|_F^2 ="
    r" \|BB^\top - U_k\Lambda_kU_k^\top\|_F^2 + \|W^\top W - V_k\Lambda_kV_k^\top\|_F^2"
    r" + 2\|BW - \Phi_k\|_F^2",
    plain="The error of Theta splits into those of BB', W'W and, twice, BW.",
    negative_control={"weight": 1.9},
    stronger={"weight": 0},
)
def theta_decomposition(budget, rng, *, weight=2.0):
    """Compare lhs and rhs at random states and near the optimum, in all shapes."""
    parts: dict[str, list] = {"random states": [], "near the optimum": []}
    for _ in range(budget(20, 100, 1000)):
        for shape in SHAPES:
            case = draw_case(rng, shape)
            k, best = case.B.shape[1], case.truth.best(case.B.shape[1])
            small = 10.0 ** rng.uniform(-6.0, 0.0)
            states = (case.B, case.W), (best.B + small * case.B, best.W + small * case.W)
            for name, (B, W) in zip(parts, states, strict=True):
                Theta = lift(case.truth, B, W)
                spectrum = Spectrum.of(case.truth, k)
                left = product_error(Theta, spectrum)
                in_B, in_W, in_models = _terms(case.truth, k, B, W)
                right = np.sqrt(in_B + in_W + weight * in_models)
                # Both are differences of matrices of this size.
                size = np.sum(Theta**2) + spectrum.first
                parts[name].append((abs(left - right) / size, case.settings))
    yield from map(proved, identities(parts, EXACT))


class _State(NamedTuple):
    """A truth, a rank, and factors whose heads are rows of W."""

    truth: LowRankRegression
    B: Any
    W: Any

    @classmethod
    def read(cls, reader, shape):
        """Return one with a diagonal truth."""
        d, n, k = shape["d"], shape["n"], shape["k"]
        values = np.abs(reader.numbers(min(d, n)))
        truth = LowRankRegression(np.eye(d, min(d, n)) * values @ np.eye(min(d, n), n))
        return cls(truth, reader.numbers(d, k), reader.numbers(n, k))

    def sides(self, constant):
        """Return the error of BW, and a constant times that of Theta."""
        k = self.B.shape[1]
        left = np.linalg.norm(self.B @ self.W.T - self.truth.best(k).Phi)
        error = product_error(lift(*self), Spectrum.of(self.truth, k))
        return float(left), float(constant * error)


@statement(
    "flute.lemmaA18",
    place="Lemma A.18",
    latex=r"\|\Theta\Theta^\top - \mathrm{diag}(\tilde\Lambda_k, 0)\|_F \le \delta \Rightarrow"
    r" \|BW - \mathrm{diag}(\Lambda_k, 0)\|_F \le \delta",
    plain="The error of BW is at most that of Theta.",
    negative_control={"constant": 0.7},
    stronger={"constant": -1},
)
def lemmaA18(budget, rng, *, constant=1.0):
    """Search for states whose models are further off, and try heads of the wrong sign."""
    sizes = (1, 1, 1), (2, 2, 1), (2, 3, 2), (4, 3, 3)
    yield search_instances(
        lambda state: state.sides(constant),
        [{"d": d, "n": n, "k": k} for d, n, k in sizes],
        _State.read,
        budget,
        rng,
        name="search",
        strength=PROVED,
    )
    opposite, used = [], []
    for _ in range(budget(10, 40, 200)):
        shape = SHAPES[rng.integers(3)]
        case = draw_case(rng, shape)
        best = case.truth.best(case.B.shape[1])
        left, right = _State(case.truth, best.B, -best.W).sides(constant)
        used.append(left / right * constant)
        opposite.append((left * (1.0 - EXACT), right, case.settings))
    yield Cases(opposite, name="heads of the wrong sign", strength=PROVED)
    yield Fact("largest error of BW over that of Theta, heads of the wrong sign", max(used))


@statement(
    "flute.lemmaA18.proof",
    place="Lemma A.18, last step of its proof",
    latex=r"\|BW + W^\top B^\top - 2\,\mathrm{diag}(\Lambda_k, 0)\|_F"
    r" = 2\|BW - \mathrm{diag}(\Lambda_k, 0)\|_F",
    plain="Adding its transpose doubles the norm of BW - diag.",
    negative_control={"directions": ("at least",)},
    holds_with={"directions": ("at most",)},
)
def lemmaA18_step(budget, rng, *, directions=("at least", "at most")):
    """Search for matrices X = BW - diag on which either half of the equation is violated."""
    if "at least" in directions:
        yield Cases(
            [(*step.sides(), {"B": [1, 0], "W": [1, 1], "Lambda_1": 1})],
            name="squares at integers: 4|X|^2 at most |X + X'|^2",
        )
    for direction in directions:

        def sides(X, direction=direction):
            doubled, twice = float(np.linalg.norm(X + X.T)), float(2.0 * np.linalg.norm(X))
            return (twice, doubled) if direction == "at least" else (doubled, twice)

        yield search_instances(
            sides,
            [{"d": d} for d in (1, 2, 3)],
            lambda reader, shape: reader.numbers(shape["d"], shape["d"]),
            budget,
            rng,
            name=f"|X + X'| {direction} 2|X|",
        )


statement(
    "flute.lemmaA18.proof.corrected",
    place="Lemma A.18, its proof",
    latex=r"\sqrt2\,\|BW - \mathrm{diag}(\Lambda_k, 0)\|_F \le"
    r" \|\Theta\Theta^\top - \mathrm{diag}(\tilde\Lambda_k, 0)\|_F",
    plain="The blocks of Theta Theta' contain the error of BW twice, whether or not BW is "
    "symmetric.",
    constants={"constant": 1.0 / 2.0**0.5},
    negative_control={"constant": 1.0 / 1.43},
    stronger={"constant": -1},
    corrects="flute.lemmaA18.proof",
)(lemmaA18.check)
