"""(4) to (6) and Appendix A.1: the objective and the update."""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from linrep.claims import Cases, Identity, Readings, proved, statement
from linrep.claims.evidence import MISPRINT, PROVED
from linrep.claims.measurements import identities
from linrep.papers.flute.counterexamples import eq5_6 as smallest
from linrep.papers.flute.lifted import CONVENTIONS, EXACT, deviation_from_13, draw_case
from linrep.papers.flute.model import FULL

# (4): the objective


def regularizer(B, W, gamma1, gamma2):
    """Return the terms (I) and (II) of (4), W with a head per row; complex entries allowed."""
    products = B.T @ B, W.T @ W
    squares = [np.sum(P * P.T) for P in products]
    return -gamma1 * np.sum(products[0] * products[1].T) + gamma2 * sum(squares)


def data_term(B, W, data, weight):
    """Return the sum over clients of weight/N times the squared errors; complex entries allowed."""
    samples = zip(W, map(data.client, range(data.n)), strict=True)
    return sum(weight / len(y) * np.sum((X @ (B @ w) - y) ** 2) for w, (X, y) in samples)


def gradients(function, B, W):
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
    slopes = []
    printed: dict[str, list] = {"gamma_1 = 2 gamma_2": [], "gamma_1 = 2 lambda_2(Phi)": []}
    for _ in range(budget(15, 100, 1000)):
        case = draw_case(rng)
        B, W = case.B * 10.0 ** rng.uniform(-2.0, 2.0), case.W * 10.0 ** rng.uniform(-2.0, 2.0)
        gamma2, where = 10.0 ** rng.uniform(-2.0, 2.0), case.settings
        imbalance = B.T @ B - W.T @ W
        size = gamma2 * (np.sum((B.T @ B) ** 2) + np.sum((W.T @ W) ** 2))
        second = np.append(case.truth.singular_values, 0.0)[1]
        for reading, gamma1 in zip(printed, (ratio * gamma2, 2.0 * second), strict=True):
            off = regularizer(B, W, gamma1, gamma2) - gamma2 * np.sum(imbalance**2)
            printed[reading].append((abs(off) / size, where))
        found = gradients(lambda B, W, g=gamma2: regularizer(B, W, ratio * g, g), B, W)
        for slope, A, sign in zip(found, (B, W), (1.0, -1.0), strict=True):
            bulk = gamma2 * np.linalg.norm(A) * np.hypot(*(np.sum(C**2) for C in (B, W)))
            off = slope - sign * 4.0 * gamma2 * A @ imbalance
            slopes.append((np.abs(off).max() / bulk, where))
    yield proved(Readings(
        identities(printed, 1e-13), name="value", phrase="gamma_1 = 2 lambda_2",
        printed_elsewhere={"gamma_1 = 2 gamma_2": "Appendix C.1"},
    ))  # fmt: skip
    yield Identity(slopes, 1e-13, name="gradients", strength=PROVED)


# (5), (6) and Appendix A.1


def printed_step(case, gamma1, gamma2, loss):
    """Return the changes of B and W by (5), then by (6), with eta_l = eta_r = eta."""
    data = gradients(lambda B, W: data_term(B, W, case.data, loss), case.B, case.W)
    terms = gradients(lambda B, W: regularizer(B, W, gamma1, gamma2), case.B, case.W)
    return [-case.eta * g for g in data], [-case.eta * g for g in terms]


def appendix_step(case):
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


def displays(case, gamma1, gamma2, loss):
    """Yield display, reading, and how far it is from (5) and (6), relative to the terms."""
    B, W, eta = case.B, case.W, case.eta
    data, terms = printed_step(case, gamma1, gamma2, loss)
    size = eta * (np.sum(B**2) + np.sum(W**2)) ** 1.5
    moved = case._replace(B=B + data[0], W=W + data[1])
    before = W - data[1] - terms[1]
    Phi = case.truth.Phi
    labels = [case.data.client(i)[0] @ Phi[:, i] for i in range(case.truth.n)]
    clean = case._replace(data=replace(case.data, y=np.concatenate(labels)))
    # The data steps are compared at the weight of the losses that A.1 has.
    half = data[0] * (0.5 / loss)
    plus = eta / 2.0 * W @ (B.T @ B - W.T @ W)
    mixed = -eta / 2.0 * B @ (B.T @ B - before.T @ W)
    name, other = "sign of the regularizer's step in W", np.abs(half).max()
    yield name, "+ (first display of W)", (terms[1] - plus) / size
    yield name, "- (display of W V)", (terms[1] + plus) / size
    name = "(6) differentiated"
    yield name, "at index t - 1", (appendix_step(case)[1][0] - terms[0]) / size
    yield name, "at the server's averages", (appendix_step(moved)[1][0] - terms[0]) / size
    name = "display of U'B"
    yield name, "W^t twice", (appendix_step(case)[1][0] - terms[0]) / size
    yield name, "W^(t-1) and W^t", (mixed - terms[0]) / size
    name = "lines for B and w_i"
    yield name, "with X_i E_i", (appendix_step(case)[0][0] - half) / other
    yield name, "without it, as the second ones", (appendix_step(clean)[0][0] - half) / other


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
    parts = defaultdict(list)
    readings: dict[str, dict[str, list]] = defaultdict(lambda: defaultdict(list))
    for _ in range(budget(15, 50, 400)):
        case = draw_case(rng)
        printed, appendix = printed_step(case, gamma1, gamma2, loss), appendix_step(case)
        size = case.eta * sum(np.sum(A**2) for A in (case.B, case.W)) ** 1.5
        names = "data, in B", "data, in w_i", "regularizer, in B", "regularizer, in W"
        pairs = zip([*printed[0], *printed[1]], [*appendix[0], *appendix[1]], strict=True)
        for name, (found, expected) in zip(names, pairs, strict=True):
            scale = np.abs(expected).max() if name.startswith("data") else size
            parts[name].append((np.abs(found - expected).max() / scale, case.settings))
        for name, reading, off in displays(case, gamma1, gamma2, loss):
            readings[name][reading].append((np.abs(off).max(), case.settings))
    printed, appendix = smallest.changes(loss)
    where = {**smallest.INSTANCE, "change of B in (5)": str(printed), "in A.1": str(appendix)}
    yield Cases(
        [(*smallest.sides(loss), where)],
        name="one client, one sample", quantity="difference of both changes",
    )  # fmt: skip
    yield from identities(parts, EXACT)
    phrase = "two displays of Appendix A.1 that differ"
    for name, found in readings.items():
        yield Readings(identities(found, EXACT), name=name, phrase=phrase)


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
    """Run rounds with random settings that obey the condition, and such as break either half.

    (13) needs 4 gamma_1 eta_r = 8 gamma_2 eta_r = share 2 c eta_l, c being the weight of a client's
    loss, and eta = 2 c eta_l, all steps in units of eta.
    """
    exact, other, margin = [], [], 0.05
    named: dict[str, list] = {name: [] for name in CONVENTIONS}
    for _ in range(budget(30, 150, 1000)):
        case = draw_case(rng)
        n, where = case.truth.n, case.settings
        for kind in range(3):
            away = 1.0 + rng.choice([-1.0, 1.0]) * rng.uniform(margin, 0.5)
            balanced, strength = ((1.0, 1.0), (away, 1.0), (1.0, away))[kind]
            eta_r = 10.0 ** rng.uniform(-1.0, 1.0)
            gamma1 = strength * share / (4.0 * eta_r)
            loss, aggregate = ("half", "full")[rng.integers(2)], ("sum", "mean")[rng.integers(2)]
            weight = {"half": 0.5, "full": 1.0}[loss] / {"sum": 1, "mean": n}[aggregate]
            settings = {
                "regularizer_step_size": eta_r, "gamma1": gamma1, "loss": loss,
                "gamma2": gamma1 / (2.0 * balanced), "aggregate": aggregate,
            }  # fmt: skip
            found = deviation_from_13(case, **settings, step_size=0.5 / weight)
            if kind == 0:
                exact.append((found, where))
            else:
                other.append((1e3 * EXACT, found, where | settings))
        for name, convention in CONVENTIONS.items():
            named[name].append((deviation_from_13(case, **convention(n)), where))
    yield Identity(exact, EXACT, name="settings that obey the condition", strength=PROVED)
    yield Cases(other, name="settings that do not", strength=PROVED)
    yield from map(proved, identities(named, EXACT))
