"""(5), (9) to (13) and Remark 2.2: the objective, its stochastic gradients, what models can do."""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from linrep.claims import Cases, Identity, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Grid, at_most, law
from linrep.claims.measurements import identities, relative
from linrep.papers.perfedsi.counterexamples.remark2_2_linear import sides as sides_of_ones
from linrep.papers.perfedsi.model import SAMPLING
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import State, Walks, sequences

# n, d, p, k, the last below all others; fewer clients than p, single items and clients too.
SHAPES = (
    (7, 5, 3, 2), (5, 7, 3, 2), (3, 5, 7, 2), (20, 16, 4, 2), (4, 4, 4, 2),
    (6, 6, 3, 1), (1, 4, 2, 1), (5, 1, 3, 1), (40, 3, 10, 3), (12, 30, 12, 5),
)  # fmt: skip


def problems(budget, rng):
    """Yield a truth, an iterate, and what tells them apart; in several units."""
    units = budget((1.0,), (1e-6, 1.0, 1e6))
    for (n, d, p, k), side, unit in product(SHAPES, ("gaussian", "unit"), units):
        values = unit * np.linspace(2.0, 1.0, k)
        truth = SideInformationCompletion.random(
            n=n, d=d, p=p, k=k, side=side, singular_values=values, rng=rng
        )
        # Factors of unlike size: U -> aU, V -> V/a changes nothing.
        a = 10.0 ** rng.uniform(-2.0, 2.0)
        U, V = (np.sqrt(unit) * rng.standard_normal((rows, k)) for rows in (d, p))
        yield truth, a * U, V / a, {"M": n, "d": d, "k": p, "r": k, "Z": side, "sigma_1": unit}


def distance_from_span(Z, L) -> float:
    """Return |L - M Z'| at the best M, over what rounding does."""
    best = np.linalg.lstsq(Z, L.T, rcond=None)[0].T
    return relative(best @ Z.T, L) / (np.linalg.cond(Z) if min(Z.shape) else 1.0)


@statement(
    "perfedsi.eq5_eq10",
    place="Section 3, (5); Appendix C.1, (9)-(10)",
    latex=r"\mathcal L = \frac1M\sum_m\big\{\mathcal L_m = \sum_i (e_i^\top(UV^\top - M_*)z_m)^2"
    r"\big\} = \frac1{2M}\|(UV^\top - M_*)Z^\top\|_F^2, \quad L_* = M_* Z^\top",
    plain="The loss is a mean of the clients' squared errors, and half a squared Frobenius norm.",
    negative_control={"half": 0.25},
    stronger={"half": 0},
    expected="misprint",
)
def eq5_eq10(budget, rng, *, half=0.5):
    """Sum squares entry by entry; half is what stands before them in (10)."""
    found: dict[str, list] = defaultdict(list)
    for truth, U, V, at in problems(budget, rng):
        n, d, p, Z = truth.n, truth.d, truth.p, truth.Z
        loss = theory.loss_and_gradients(truth, U, V)[0]
        E = U @ V.T - truth.M  # each client's sum over the items of (e_i' E z_m)^2, one by one
        squares = np.mean([sum(float(row @ z) ** 2 for row in E) for z in Z])
        items, clients = np.indices((d, n))
        L = truth.entries(items.ravel(), clients.ravel()).reshape(d, n)
        inside = rng.standard_normal((d, p)) @ Z.T
        # As printed shapes need not fit.
        spanned = distance_from_span(Z, Z @ rng.standard_normal((p, n))) if n == d else np.inf
        for name, deviation in (
            ("(5), no factor", relative(squares, loss)),
            ("(10), one half", relative(half * squares, loss)),
            ("M* = L* Z' (9)", relative(L @ Z.T, truth.M) if n == p else np.inf),
            ("L* = M* Z'", relative(truth.M @ Z.T, L)),
            ("column space, as printed", spanned),
            ("L* = M* Z' for some M*", distance_from_span(Z, inside)),
        ):
            found[name].append((deviation, at))
    spans, next_sentence = "L* = M* Z' for some M*", "Section 3, the next sentence"
    for printed, meant, place, name, phrase in (
        ("(5), no factor", "(10), one half", "(10)", "both forms of L", "L_m"),
        ("M* = L* Z' (9)", "L* = M* Z'", "Section 3", "M* and L*", "M_* = L_* Z'"),
        ("column space, as printed", spans, next_sentence, "Z's span", "the column space of L_*"),
    ):
        parts = identities({each: found[each] for each in (printed, meant)}, 1e-13)
        yield Readings(parts, name=name, phrase=phrase, printed_elsewhere={meant: place})


# (11)-(13)


def residuals(rng):
    """Return deviations of (12)'s step from a sample's gradient, for two readings of it."""
    found: dict[str, list] = {"VU' - M* as printed": [], "VU' - M*'": []}
    for n, d, p, k in ((4, 5, 3, 2), (4, 3, 5, 2), (4, 4, 4, 2), (3, 3, 3, 1)):
        truth = SideInformationCompletion.random(n=n, d=d, p=p, k=k, rng=rng)
        U, V = rng.standard_normal((d, k)), rng.standard_normal((p, k))
        for item, z in product(range(d), truth.Z):
            # By the chain rule: the residual times its derivative.
            gradient = (U[item] @ V.T @ z - truth.M[item] @ z) * np.outer(z, U[item])
            for cases, M in zip(found.values(), (truth.M, truth.M.T), strict=True):
                gap = np.inf
                if M.shape == (p, d):
                    e = np.eye(d)[item]
                    step = np.outer(z, z) @ (V @ U.T - M) @ np.outer(e, e) @ U
                    gap = relative(step, gradient, 1.0)
                cases.append((gap, {"d": d, "k": p, "r": k, "item": item}))
    return found


def mean_step(truth, U, V):
    """Return the mean of a local step over the items, per client and unit step size.

    Steps are long, for what is left of short ones after rounding says little.
    """
    state = State(truth, U, V)
    size = 1e6 * max(
        np.abs(A).max() / np.abs(gradient).max()
        for A, gradient in zip((U, V), state.gradients, strict=True)
    )
    shifts = Walks(state, sequences(truth.d, 1), size).shifts[1]
    return [-part.mean(axis=1) / size for part in shifts]


def unbiased(budget, rng, power):
    """Return deviations of E ghat from the gradients, divided by d^power and by 1."""
    scaled = "the gradient over d" + ("" if power == 1 else f"^{power:g}")
    local: dict[str, list] = {scaled: [], "the gradient itself": []}
    overall = []
    for truth, U, V, at in problems(budget, rng):
        steps, d = mean_step(truth, U, V), float(truth.d)
        whole = theory.loss_and_gradients(truth, U, V)[1:]
        for step, gradient in zip(steps, whole, strict=True):
            overall.append((relative(d * step.mean(axis=0), gradient), at))
        for client, z in enumerate(truth.Z):
            alone = SideInformationCompletion(truth.U, truth.V, z[None])
            gradients = theory.loss_and_gradients(alone, U, V)[1:]
            for cases, factor in zip(local.values(), (d**-power, 1.0), strict=True):
                gaps = [
                    relative(step[client], factor * gradient)
                    for step, gradient in zip(steps, gradients, strict=True)
                ]
                cases.append((max(gaps), at))
    return local, overall


def all_rounds(truth, U, V, participants, local_steps, replacement, step_size):
    """Return E[(U+, V+)] over all participants and items, and the mean of every client's E.

    Participants drawn twice walk independently; the mean over their paths is that of one.
    """
    walks = Walks(State(truth, U, V), sequences(truth.d, local_steps), step_size)
    n, paths, servers = truth.n, range(truth.d**local_steps), []
    for ends in (walks.U[-1], walks.V[-1]):
        total, count = np.zeros(ends.shape[2:]), 0
        for chosen in product(range(n), repeat=participants):
            if not replacement and len(set(chosen)) < participants:
                continue
            # One joint draw of paths after another: every participant has each equally often.
            for joint in product(paths, repeat=participants):
                total += sum(ends[m, path] for m, path in zip(chosen, joint, strict=True))
                count += participants
        servers.append(total / count)
    return servers, [ends.mean(axis=(0, 1)) for ends in (walks.U[-1], walks.V[-1])]


def server(budget, rng):
    """Yield deviations of E[(U+, V+)] from the mean over the clients, (13)."""
    few, more = (3, 2, 2, 2), ((3, 3, 2, 2), (2, 2, 3, 2), (4, 2, 1, 4), (3, 2, 3, 1))
    for n, d, C, tau in budget((few,), (few, *more)):
        truth = SideInformationCompletion.random(n=n, d=d, p=2, k=1, rng=rng)
        U, V = rng.standard_normal((d, 1)), rng.standard_normal((2, 1))
        for replacement in (True, False)[: 1 if n < C else 2]:
            both = all_rounds(truth, U, V, C, tau, replacement, 0.3)
            gap = max(relative(*each) for each in zip(*both, strict=True))
            yield gap, {"M": n, "d": d, "C": C, "tau": tau, "replacement": replacement}


@statement(
    "perfedsi.eq11_13",
    place="Appendix C.1, (11)-(13)",
    hypotheses=(SAMPLING,),
    latex=r"V_{s+1} = V_s - \eta z_m z_m^\top(V_s U_s^\top - M_*)e e^\top U_s, \quad"
    r" \mathbb E_e[\hat g] \propto \nabla\mathcal L_m, \quad"
    r" \mathbb E_t[U_{t+1}] = \frac1M\sum_m\mathbb E_t[U_{t,m,\tau}]",
    plain="Local steps follow the gradient up to a factor, the server the mean over all clients.",
    negative_control={"power": 2.0},
    stronger={"power": 0},
    expected="misprint",
)
def eq11_13(budget, rng, *, power=1.0):
    """Enumerate items, paths of items, and participants; the factor is d to a power, inverted."""
    local, overall = unbiased(budget, rng, power)
    elsewhere = {"VU' - M*'": "(42), transposed"}
    for found, name, phrase, printed in (
        (residuals(rng), "(12)'s residual", "V U' - M_*", elsewhere),
        (local, "E ghat is", "gradient descent steps on the local losses", {}),
    ):
        parts = [
            Identity(deviations, 1e-12, name=reading, strength=PROVED)
            for reading, deviations in found.items()
        ]
        yield Readings(parts, name=name, phrase=phrase, printed_elsewhere=printed)
    name = "d E ghat, averaged over clients, is the gradient of L"
    yield Identity(overall, name=name, strength=PROVED)
    yield Identity(server(budget, rng), name="(13)", strength=PROVED)


@law(
    "perfedsi.assumptionC1.twice",
    "Appendix C.1, after Assumption C.1",
    r"P(\text{a client is drawn twice}) = 1 - \prod_{j<C}\Big(1 - \frac jM\Big) \le"
    r" \frac{C(C - 1)}{2M} \to 0 \quad (M \to \infty)",
    over=Grid(C=range(1, 41), M=(40, 100, 500, 10**4, 10**8)),
    wrong={"pairs": Fraction(1, 4)},
    stronger={"pairs": -1},
    hypotheses=(SAMPLING,),
)
def twice(C, M, *, pairs=Fraction(1, 2)):
    """That a client is drawn twice in a round is unlikely where C is a constant and M large."""
    none = prod((1 - Fraction(j, M) for j in range(C)), start=Fraction(1))
    return {"union bound": at_most(1 - none, pairs * C * (C - 1) / M)}


# Remark 2.2


def residual(Z) -> float:
    """Return min over theta of |Z theta - 1|/sqrt(n)."""
    ones = np.ones(len(Z))
    left = Z @ np.linalg.lstsq(Z, ones, rcond=None)[0] - ones
    return float(np.linalg.norm(left)) / np.sqrt(len(Z))


def with_ones(Z, without):
    """Return Z with a column of ones, but for so many clients that are without."""
    column = np.ones(len(Z))
    column[:without] = 0.0
    return np.column_stack([Z, column])


def designs(budget, rng):
    """Yield side information and what tells it apart."""
    for n, p in budget(((20, 4), (4, 4)), ((20, 4), (100, 4), (1000, 32), (4, 4), (3, 5), (2, 1))):
        for side in ("gaussian", "unit"):
            truth = SideInformationCompletion.random(n=n, d=1, p=p, k=1, side=side, rng=rng)
            yield truth.Z, {"Z": side, "M": n, "k": p}
        yield np.eye(n), {"Z": "one-hot", "M": n, "k": n}
        constant = rng.standard_normal((n, p))
        constant[:, 0] = 1.0
        yield constant, {"Z": "with a constant column", "M": n, "k": p}


@statement(
    "perfedsi.remark2.2",
    place="Remark 2.2",
    latex=r"\exists\,\theta_2: W_{\theta_2}(z_m) = 0\ \forall m \ (\text{Model 1}), \quad"
    r" \exists\,\theta_2: W_{\theta_2}(z_m) = \mathbf 1\ \forall m \ (\text{Model 2})",
    plain="Both models can ignore the side information: W can be 0, or 1, at all clients.",
    negative_control={"without": 1},
)
def remark2_2(budget, rng, *, without=0):
    """Solve for W(z) = 1 among V'z + b, and among V'z, which is Section 3's instance of Model 2.

    So many clients are without the constant. W = 0 needs theta = 0 only.
    """
    found = [(Z, at) for Z, at in designs(budget, rng)]
    affine = [(residual(with_ones(Z, without)), at) for Z, at in found]
    linear = [(residual(Z), at) for Z, at in found]
    quantity = "root mean square of W - 1"
    parts = [
        Identity(affine, 1e-10, quantity=quantity, name="W(z) = V'z + b", strength=PROVED),
        Identity(linear, 1e-10, quantity=quantity, name="W(z) = V'z"),
    ]
    yield Readings(parts, name="Model 2: W = 1", phrase="can learn a W")


@statement(
    "perfedsi.remark2.2.linear",
    place="Remark 2.2 for Section 3's instance of Model 2",
    latex=r"\exists\,V: V^\top z_m = \mathbf 1\ \forall m",
    plain="Section 3's W(z) = V'z can be 1 at all clients, so that side information is ignored.",
    negative_control={"without": 1},
    holds_with={"constant": True},
)
def remark2_2_linear(budget, rng, *, constant=False, without=0):
    """Solve for V'z = 1; with a constant, z has an entry 1, but for so many clients without."""
    if constant:
        cases = [(residual(with_ones(Z, without)), at) for Z, at in designs(budget, rng)]
        quantity, name = "root mean square of W - 1", "1 is in the columns of Z"
        yield Identity(cases, 1e-10, quantity=quantity, name=name)
    else:
        case = (*sides_of_ones(), {"z": [1, 2] * 8, "V": "3/5"})
        yield Cases([case], quantity="least sum of (V'z - 1)^2", name="in fractions")
