"""(4) to (6) and Appendix A.1: the objective and the update."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linrep.claims import Cases, Fact, Identity, Readings, proved, statement
from linrep.claims.deviations import identities
from linrep.claims.evidence import MISPRINT, PROVED
from linrep.papers.flute._hypotheses import FULL
from linrep.papers.flute._lifted import (
    CONVENTIONS,
    EXACT,
    PRINTED,
    SHAPES,
    deviation_from_13,
    draw_case,
    in_units,
)
from linrep.papers.flute.counterexamples import eq5_6 as smallest

# (4): the objective


def _regularizer(B, W, gamma1, gamma2):
    """Return the terms (I) and (II) of (4), W with a head per row; complex entries allowed."""
    products = B.T @ B, W.T @ W
    squares = [np.sum(P * P.T) for P in products]
    return -gamma1 * np.sum(products[0] * products[1].T) + gamma2 * sum(squares)


def _data_term(B, W, data, weight):
    """Return the sum over clients of weight/N times the squared errors; complex entries allowed."""
    total = 0.0
    for i, w in enumerate(W):
        X, y = data.client(i)
        total = total + weight / len(y) * np.sum((X @ (B @ w) - y) ** 2)
    return total


def _gradients(function, B, W):
    """Return the gradients of a polynomial in B and W by complex steps, exact to rounding."""
    out = []
    for place, A in enumerate((B, W)):
        gradient = np.empty_like(A)
        for entry in np.ndindex(A.shape):
            moved = [B.astype(complex), W.astype(complex)]
            moved[place][entry] += 1e-100j
            gradient[entry] = function(*moved).imag / 1e-100
        out.append(gradient)
    return out


@statement(
    "flute.eq4",
    place="Section 4.2, (4)",
    latex=r"\gamma_1 = 2\gamma_2:\quad -\gamma_1\|BW\|_F^2 + \gamma_2(\|B^\top B\|_F^2"
    r" + \|WW^\top\|_F^2) = \gamma_2\|B^\top B - WW^\top\|_F^2",
    plain="With gamma_1 = 2 gamma_2 both terms are the usual penalty on imbalance.",
    negative_control={"ratio": 2.001},
    expected=MISPRINT,
    stronger={"ratio": 0},
)
def eq4(budget, rng, *, ratio=2.0):
    """Compare values and gradients on random shapes and sizes, and the readings of lambda_2."""
    gradients, flat = [], []
    printed: dict[str, list] = {"gamma_1 = 2 gamma_2": [], "gamma_1 = 2 lambda_2(Phi)": []}
    for _ in range(budget(15, 100, 1000)):
        case = draw_case(rng, SHAPES[rng.integers(3)])
        B, W = case.B * 10.0 ** rng.uniform(-2.0, 2.0), case.W * 10.0 ** rng.uniform(-2.0, 2.0)
        gamma2, where = 10.0 ** rng.uniform(-2.0, 2.0), case.settings
        imbalance = B.T @ B - W.T @ W
        size = gamma2 * (np.sum((B.T @ B) ** 2) + np.sum((W.T @ W) ** 2))
        penalty = gamma2 * np.sum(imbalance**2)
        found = _regularizer(B, W, ratio * gamma2, gamma2)
        printed["gamma_1 = 2 gamma_2"].append((abs(found - penalty) / size, where))
        spectrum = np.append(case.truth.singular_values, 0.0)
        found = _regularizer(B, W, 2.0 * spectrum[1], gamma2)
        printed["gamma_1 = 2 lambda_2(Phi)"].append((abs(found - penalty) / size, where))
        slopes = _gradients(lambda B, W, g=gamma2: _regularizer(B, W, ratio * g, g), B, W)
        for slope, A, sign in zip(slopes, (B, W), (1.0, -1.0), strict=True):
            expected = sign * 4.0 * gamma2 * A @ imbalance
            bulk = gamma2 * np.linalg.norm(A) * np.hypot(*(np.sum(C**2) for C in (B, W)))
            gradients.append((np.abs(slope - expected).max() / bulk, where))
        best = case.truth.best(B.shape[1])
        found = _regularizer(best.B, best.W, ratio * gamma2, gamma2)
        flat.append((abs(found) / (gamma2 * best.singular_values[0] ** 2), where))
    yield proved(
        Readings(
            identities(printed, 1e-13),
            name="value",
            phrase="gamma_1 = 2 lambda_2",
            printed_elsewhere={"gamma_1 = 2 gamma_2": "Appendix C.1"},
        )
    )
    yield Identity(gradients, 1e-13, name="gradients", strength=PROVED)
    yield Identity(flat, 1e-12, name="0 at balanced factors", strength=PROVED)


# (5), (6) and Appendix A.1


def _printed_step(case, gamma1, gamma2, loss):
    """Return the changes of B and W by (5), then by (6), with eta_l = eta_r = eta."""
    eta = case.eta
    data = _gradients(lambda B, W: _data_term(B, W, case.data, loss), case.B, case.W)
    terms = _gradients(lambda B, W: _regularizer(B, W, gamma1, gamma2), case.B, case.W)
    return [-eta * g for g in data], [-eta * g for g in terms]


def _appendix_step(case):
    """Return the changes of B and W by the data and by the regularizer in Appendix A.1's lines."""
    B, W, eta = case.B, case.W, case.eta
    in_B, in_W = np.zeros_like(B), np.zeros_like(W)
    for i, w in enumerate(W):
        X, y = case.data.client(i)
        error = X @ (B @ w) - y
        in_B -= eta / len(y) * np.outer(X.T @ error, w)
        in_W[i] -= eta / len(y) * B.T @ X.T @ error
    imbalance = B.T @ B - W.T @ W
    return [in_B, in_W], [-eta / 2.0 * B @ imbalance, eta / 2.0 * W @ imbalance]


@statement(
    "flute.eq5-6",
    place="(5), (6), Theorem 5.1 and Appendix A.1",
    hypotheses=(FULL,),
    latex=r"L_i = \tfrac1N\sum(x^\top Bw_i - y)^2,\ \eta_l = \eta_r = \eta,\ \gamma_1 = \tfrac14,\ "
    r"\gamma_2 = \tfrac18:\ B^+ = B - \tfrac\eta N\sum_iX_i(X_i^\top Bw_i - y_i)w_i^\top"
    r" - \tfrac\eta2B(B^\top B - WW^\top)",
    plain="The algorithm's steps (5) and (6) are those that Appendix A.1 analyses.",
    negative_control={"loss": 0.5, "gamma1": 0.26},
    holds_with={"loss": 0.5},
)
def eq5_6(budget, rng, *, loss=1.0, gamma1=0.25, gamma2=0.125):
    """Differentiate the printed losses and regularizers, and compare with the appendix."""
    names = ("data, in B", "data, in w_i", "regularizer, in B", "regularizer, in W")
    parts: dict[str, list] = {name: [] for name in names}
    factors = []
    displays: dict[str, dict[str, list]] = {
        "sign of the regularizer's step in W": {
            "+ (first display of W)": [],
            "- (display of W V)": [],
        },
        "(6) differentiated": {"at index t - 1": [], "at the server's averages": []},
        "display of U'B": {"W^t twice": [], "W^(t-1) and W^t": []},
        "lines for B and w_i": {"with X_i E_i": [], "without it, as the second ones": []},
    }
    for _ in range(budget(15, 50, 400)):
        case = draw_case(rng, SHAPES[rng.integers(3)])
        printed, appendix = _printed_step(case, gamma1, gamma2, loss), _appendix_step(case)
        pairs = zip([*printed[0], *printed[1]], [*appendix[0], *appendix[1]], strict=True)
        size = case.eta * sum(np.sum(A**2) for A in (case.B, case.W)) ** 1.5
        for name, (found, expected) in zip(names, pairs, strict=True):
            scale = np.abs(expected).max() if name.startswith("data") else size
            parts[name].append((np.abs(found - expected).max() / scale, case.settings))
        factors.append(np.linalg.norm(printed[0][0]) / np.linalg.norm(appendix[0][0]))
        for name, found in _displays(case, gamma1, gamma2, loss).items():
            for reading, error in zip(displays[name], found, strict=True):
                displays[name][reading].append((error, case.settings))
    printed, appendix = smallest.changes(loss)
    where = {**smallest.INSTANCE, "change of B in (5)": str(printed), "in A.1": str(appendix)}
    yield Cases(
        [(*smallest.sides(loss), where)],
        name="one client, one sample",
        quantity="difference of both changes",
    )
    yield from identities(parts, EXACT)
    for name, found in displays.items():
        yield Readings(
            identities(found, EXACT), name=name, phrase="two displays of Appendix A.1 that differ"
        )
    yield Fact("data step of (5) over that of A.1", np.median(factors))


def _displays(case, gamma1, gamma2, loss):
    """Return how far both readings of each display are from (5) and (6), relative to the terms."""
    B, W, eta = case.B, case.W, case.eta
    data, terms = _printed_step(case, gamma1, gamma2, loss)
    size = eta * (np.sum(B**2) + np.sum(W**2)) ** 1.5
    plus = eta / 2.0 * W @ (B.T @ B - W.T @ W)
    moved = case._replace(B=B + data[0], W=W + data[1])
    before = case._replace(B=B - data[0] - terms[0], W=W - data[1] - terms[1])
    mixed = -eta / 2.0 * B @ (B.T @ B - before.W.T @ W)
    with_noise = _appendix_step(case)[0][0]
    models = (case.truth.Phi[:, i] for i in range(case.truth.n))
    labels = [case.data.client(i)[0] @ phi for i, phi in enumerate(models)]
    clean = case._replace(data=replace(case.data, y=np.concatenate(labels)))
    without = _appendix_step(clean)[0][0]
    # The data steps are compared at the weight of the losses that A.1 has.
    half = data[0] * (0.5 / loss)
    return {
        "sign of the regularizer's step in W": [
            np.abs(terms[1] - sign * plus).max() / size for sign in (1.0, -1.0)
        ],
        "(6) differentiated": [
            np.abs(_appendix_step(at)[1][0] - terms[0]).max() / size for at in (case, moved)
        ],
        "display of U'B": [
            np.abs(found - terms[0]).max() / size for found in (_appendix_step(case)[1][0], mixed)
        ],
        "lines for B and w_i": [
            np.abs(found - half).max() / np.abs(half).max() for found in (with_noise, without)
        ],
    }


def _random_settings(rng, off, share):
    """Return settings of a round and how far they are from those that (13) needs.

    c is the weight of a client's loss: (13) needs 4 gamma_1 eta_r = 8 gamma_2 eta_r = share 2 c
    eta_l, and eta = 2 c eta_l, all steps in units of eta. `off` are gamma_1 / (2 gamma_2) and the
    size of the regularizer over what it needs.
    """
    balanced, strength = off
    eta_r = 10.0 ** rng.uniform(-1.0, 1.0)
    gamma1 = strength * share / (4.0 * eta_r)
    return {
        "regularizer_step_size": eta_r,
        "gamma1": gamma1,
        "gamma2": gamma1 / (2.0 * balanced),
        "loss": ("half", "full")[rng.integers(2)],
        "aggregate": ("sum", "mean")[rng.integers(2)],
    }


@statement(
    "flute.eq5-6.corrected",
    place="(5), (6), (13) and Appendix A.1",
    latex=r"L_i \text{ with weight } c:\quad (13) \iff \gamma_1 = 2\gamma_2,\ "
    r"4\gamma_1\eta_r = 2c\eta_l = \eta",
    plain="With weight c of the losses a round is (13) if and only if gamma_1 = 2 gamma_2 and 4 "
    "gamma_1 eta_r = 2 c eta_l = eta.",
    negative_control={"share": 1.01},
    stronger={"share": 0},
    corrects="flute.eq5-6",
)
def eq5_6_corrected(budget, rng, *, share=1.0):
    """Run rounds with random settings that obey the condition, and such as break either half."""
    exact, other, margin = [], [], 0.05
    printed: dict[str, list] = {name: [] for name in PRINTED}
    named: dict[str, list] = {name: [] for name in CONVENTIONS}
    for _ in range(budget(30, 150, 1000)):
        case = draw_case(rng, SHAPES[rng.integers(3)])
        where = case.settings
        for kind in range(3):
            away = 1.0 + rng.choice([-1.0, 1.0]) * rng.uniform(margin, 0.5)
            settings = _random_settings(rng, ((1.0, 1.0), (away, 1.0), (1.0, away))[kind], share)
            weight = {"half": 0.5, "full": 1.0}[settings["loss"]]
            weight /= {"sum": 1, "mean": case.truth.n}[settings["aggregate"]]
            found = deviation_from_13(
                case, **in_units(settings | {"step_size": 0.5 / weight}, case.eta)
            )
            if kind == 0:
                exact.append((found, where))
            else:
                other.append((1e3 * EXACT, found, where | settings))
        for name, settings in CONVENTIONS.items():
            found = deviation_from_13(case, **in_units(settings(case.truth.n), case.eta))
            named[name].append((found, where))
        for name, settings in PRINTED.items():
            printed[name].append(deviation_from_13(case, **in_units(settings, case.eta)))
    yield Identity(exact, EXACT, name="settings that obey the condition", strength=PROVED)
    yield Cases(other, name="settings that do not", strength=PROVED)
    yield from map(proved, identities(named, EXACT))
    least = min(case[1] for case in other)
    yield Fact(f"least deviation where an equation is off by {margin:.0%} or more", least)
    for name, values in printed.items():
        yield Fact(f"median deviation, {name}", np.median(values))
