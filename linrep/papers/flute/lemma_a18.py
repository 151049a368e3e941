"""Lemma A.18, and what Theta measures."""

import numpy as np

from linrep.claims import Cases, proved, search_instances, statement
from linrep.claims.laws import Arrays, at_most, law
from linrep.claims.measurements import identities
from linrep.papers.flute.counterexamples import lemmaa18_proof as step
from linrep.papers.flute.lifted import EXACT, SHAPES, draw_case
from linrep.problems import LowRankRegression
from linrep.theory.flute import Spectrum
from linrep.theory.flute_lift import lift, product_error


def terms(truth, k, B, W):
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
            best, spectrum = case.truth.best(case.B.shape[1]), case.spectrum
            small = 10.0 ** rng.uniform(-6.0, 0.0)
            states = (case.B, case.W), (best.B + small * case.B, best.W + small * case.W)
            for name, state in zip(parts, states, strict=True):
                Theta = case.lift(*state)
                in_B, in_W, in_models = terms(case.truth, spectrum.k, *state)
                apart = product_error(Theta, spectrum) - np.sqrt(in_B + in_W + weight * in_models)
                # Both are differences of matrices of this size.
                size = np.sum(Theta**2) + spectrum.first
                parts[name].append((abs(float(apart)) / size, case.settings))
    yield from map(proved, identities(parts, EXACT))


@law(
    "flute.lemmaA18", "Lemma A.18",
    r"\|\Theta\Theta^\top - \mathrm{diag}(\tilde\Lambda_k, 0)\|_F \le \delta \Rightarrow"
    r" \|BW - \mathrm{diag}(\Lambda_k, 0)\|_F \le \delta",
    over=Arrays(
        *({"s": min(d, n), "d": d, "n": n, "k": k}
          for d, n, k in ((1, 1, 1), (2, 2, 1), (2, 3, 2), (4, 3, 3))),
        values="s", B="dk", W="nk",
    ),
    wrong={"constant": 0.7}, stronger={"constant": -1},
)  # fmt: skip
def lemmaA18(values, B, W, *, constant=1.0):
    """The error of BW is at most that of Theta."""
    (d, k), n, size = B.shape, len(W), len(values)
    if max(k, size) > min(d, n):
        return None
    Phi = np.eye(d, size) * np.abs(values) @ np.eye(size, n)
    truth = LowRankRegression(Phi)
    error = product_error(lift(truth, B, W), Spectrum.of(truth, k))
    return at_most(float(np.linalg.norm(B @ W.T - truth.best(k).Phi)), float(constant * error))


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
    """Take X = BW - diag at which it is less, exactly, and search for one at which it is more."""
    if "at least" in directions:
        yield Cases(
            [(*step.sides(), {"B": [1, 0], "W": [1, 1], "Lambda_1": 1})],
            name="squares at integers: 4|X|^2 at most |X + X'|^2",
        )
    yield search_instances(
        lambda X: (float(np.linalg.norm(X + X.T)), float(2.0 * np.linalg.norm(X))),
        [{"d": d} for d in (1, 2, 3)], {"X": ("d", "d")}, budget, rng, name="|X + X'| at most 2|X|",
    )  # fmt: skip


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
