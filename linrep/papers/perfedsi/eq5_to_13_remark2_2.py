"""(5), (9) to (13) and Remark 2.2: the objective, its stochastic gradients, what models can do."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Cases, Fact, Identity, Mean, Readings, statement
from linrep.claims.deviations import identities, relative
from linrep.claims.evidence import PROVED
from linrep.papers.perfedsi._hypotheses import SAMPLING
from linrep.papers.perfedsi._rounds import Runs, walk
from linrep.papers.perfedsi.counterexamples.remark2_2_linear import sides as sides_of_ones
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

# n, d, p, k, the last below all others; fewer clients than p, single items and clients too.
_SHAPES = (
    (7, 5, 3, 2),
    (5, 7, 3, 2),
    (3, 5, 7, 2),
    (20, 16, 4, 2),
    (4, 4, 4, 2),
    (6, 6, 3, 1),
    (1, 4, 2, 1),
    (5, 1, 3, 1),
    (40, 3, 10, 3),
    (12, 30, 12, 5),
)


def _problems(budget, rng):
    """Yield a truth, an iterate, and what tells them apart; in several units."""
    units = budget((1.0,), (1e-6, 1.0, 1e6))
    for (n, d, p, k), side, unit in product(_SHAPES, ("gaussian", "unit"), units):
        values = unit * np.linspace(2.0, 1.0, k)
        truth = SideInformationCompletion.random(
            n=n, d=d, p=p, k=k, side=side, singular_values=values, rng=rng
        )
        # Factors of unlike size: U -> aU, V -> V/a changes nothing.
        a = 10.0 ** rng.uniform(-2.0, 2.0)
        U, V = (np.sqrt(unit) * rng.standard_normal((rows, k)) for rows in (d, p))
        yield truth, a * U, V / a, {"M": n, "d": d, "k": p, "r": k, "Z": side, "sigma_1": unit}


def _spans(budget, rng):
    """Return deviations |L* - M Z'| at the best M: L* is some M* Z', or has columns in Z's span."""
    found: dict[str, list] = {"L* = M* Z' for some M*": [], "column space, as printed": []}
    for truth, _, _, instance in _problems(budget, rng):
        n, d, Z = truth.n, truth.d, truth.Z
        inside = rng.standard_normal((d, truth.p)) @ Z.T
        other = Z @ rng.standard_normal((truth.p, n)) if n == d else None
        for name, L in zip(found, (inside, other), strict=True):
            best = None if L is None else np.linalg.lstsq(Z, L.T, rcond=None)[0].T
            gap = np.inf if best is None else relative(best @ Z.T, L)
            condition = np.linalg.cond(Z) if min(Z.shape) else 1.0
            found[name].append((gap / condition, instance))
    return found


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
    first, second = [], []
    product_of: dict[str, list] = {"M* = L* Z' (9)": [], "L* = M* Z'": []}
    for truth, U, V, instance in _problems(budget, rng):
        loss = theory.loss_and_gradients(truth, U, V)[0]
        E = U @ V.T - truth.M  # each client's sum over the items of (e_i' E z_m)^2, one by one
        squares = np.array([sum(float(row @ z) ** 2 for row in E) for z in truth.Z])
        first.append((relative(squares.mean(), loss), instance))
        second.append((relative(np.mean(half * squares), loss), instance))
        L = truth.entries(*(at.ravel() for at in np.indices((truth.d, truth.n)))).reshape(
            truth.d, truth.n
        )
        for name, (left, right, result) in zip(
            product_of, ((L, truth.Z.T, truth.M), (truth.M, truth.Z.T, L)), strict=True
        ):
            fits = left.shape[1] == right.shape[0] and result.shape == (len(left), right.shape[1])
            product_of[name].append((relative(left @ right, result) if fits else np.inf, instance))
    yield Readings(
        identities({"(5), no factor": first, "(10), one half": second}, 1e-13),
        name="both forms of L",
        phrase="L_m",
        printed_elsewhere={"(10), one half": "(10)"},
    )
    yield Readings(
        identities(product_of),
        name="M* and L*",
        phrase="M_* = L_* Z'",
        printed_elsewhere={"L* = M* Z'": "Section 3"},
    )
    yield Readings(
        identities(_spans(budget, rng)),
        name="Z contains what it takes for L* = M* Z'",
        phrase="the column space of L_*",
        printed_elsewhere={"L* = M* Z' for some M*": "Section 3, the next sentence"},
    )


# (11)-(13)


def _slope_of_sample(truth, U, V, item, z):
    """Return the gradient in V of half a squared sample, from differences, which are exact.

    The sample is a square of a linear function of V: central differences have no error but
    rounding.
    """
    gradient, star = np.empty_like(V), truth.M[item] @ z
    for index in np.ndindex(V.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = V.copy()
            moved[index] += sign
            ends.append(0.5 * (U[item] @ moved.T @ z - star) ** 2)
        gradient[index] = (ends[0] - ends[1]) / 2.0
    return gradient


def _residuals(rng):
    """Return deviations of (12)'s step from that gradient, for both readings of its residual."""
    found: dict[str, list] = {"VU' - M* as printed": [], "VU' - M*'": []}
    for n, d, p, k in ((4, 5, 3, 2), (4, 3, 5, 2), (4, 4, 4, 2), (3, 3, 3, 1)):
        truth = SideInformationCompletion.random(n=n, d=d, p=p, k=k, rng=rng)
        U, V = rng.standard_normal((d, k)), rng.standard_normal((p, k))
        for item, z in product(range(d), truth.Z):
            gradient = _slope_of_sample(truth, U, V, item, z)
            e = np.eye(d)[item]
            for name, M in zip(found, (truth.M, truth.M.T), strict=True):
                gap = np.inf
                if M.shape == (p, d):
                    step = np.outer(z, z) @ (V @ U.T - M) @ np.outer(e, e) @ U
                    gap = relative(step, gradient, 1.0)
                found[name].append((gap, {"d": d, "k": p, "r": k, "item": item}))
    return found


def _one_step(truth, U, V):
    """Return the mean of a local step over the items, per client and unit step size.

    Steps are the differences of (11) and (12), all items being walkers of one run. They are long,
    for what is left of short ones after rounding says little.
    """
    n, d = truth.n, truth.d
    gradients = theory.loss_and_gradients(truth, U, V)[1:]
    size = 1e6 * max(
        np.abs(A).max() / np.abs(gradient).max()
        for A, gradient in zip((U, V), gradients, strict=True)
    )
    who, items = (at.reshape(1, -1) for at in np.indices((n, d)))
    before, after = (
        (Us[0].copy(), Vs[0].copy())
        for Us, Vs in walk(Runs.of([truth], [(U, V)]), who, items[:, :, None], size)
    )
    return [
        (old - new).reshape(n, d, *old.shape[1:]).mean(axis=1) / size
        for old, new in zip(before, after, strict=True)
    ]


def _unbiased(budget, rng, power):
    """Return deviations of E ghat from the gradients, divided by d^power and by 1."""
    scaled = "the gradient over d" + ("" if power == 1 else f"^{power:g}")
    local: dict[str, list] = {scaled: [], "the gradient itself": []}
    overall = []
    for truth, U, V, instance in _problems(budget, rng):
        steps = _one_step(truth, U, V)
        d, means = truth.d, [step.mean(axis=0) for step in steps]
        whole = theory.loss_and_gradients(truth, U, V)[1:]
        for mean, gradient in zip(means, whole, strict=True):
            overall.append((relative(d * mean, gradient), instance))
        for client, z in enumerate(truth.Z):
            alone = SideInformationCompletion(truth.U, truth.V, z[None])
            gradients = theory.loss_and_gradients(alone, U, V)[1:]
            for name, factor in zip(local, (float(d) ** -power, 1.0), strict=True):
                gap = max(
                    relative(step[client], factor * gradient)
                    for step, gradient in zip(steps, gradients, strict=True)
                )
                local[name].append((gap, instance))
    return local, overall


def _all_rounds(truth, U, V, participants, local_steps, replacement, step_size):
    """Return E[(U+, V+)] over all participants and items, and the mean of every client's E.

    Participants drawn twice walk independently; the mean over their paths is that of one.
    """
    n, d = truth.n, truth.d
    paths = np.array(list(product(range(d), repeat=local_steps)))
    who = np.repeat(np.arange(n), len(paths))[None]
    items = np.tile(paths, (n, 1))[None]
    *_, last = walk(Runs.of([truth], [(U, V)]), who, items, step_size)
    ends = [end[0].reshape(n, len(paths), -1) for end in last]
    chosen = [
        draw
        for draw in product(range(n), repeat=participants)
        if replacement or len(set(draw)) == participants
    ]
    # One joint draw of paths after another: every participant has each path equally often.
    servers = []
    for end in ends:
        total, count = np.zeros(end.shape[-1]), 0
        for draw in chosen:
            for joint in product(range(len(paths)), repeat=participants):
                total += sum(end[m, path] for m, path in zip(draw, joint, strict=True))
                count += participants
        servers.append(total / count)
    return servers, [end.mean(axis=(0, 1)) for end in ends]


def _server(budget, rng):
    """Yield deviations of E[(U+, V+)] from the mean over the clients, (13)."""
    for n, d, participants, local_steps in budget(
        ((3, 2, 2, 2),), ((3, 2, 2, 2), (3, 3, 2, 2), (2, 2, 3, 2), (4, 2, 1, 4), (3, 2, 3, 1))
    ):
        truth = SideInformationCompletion.random(n=n, d=d, p=2, k=1, rng=rng)
        U, V = rng.standard_normal((d, 1)), rng.standard_normal((2, 1))
        for replacement in (True, False):
            if not replacement and participants > n:
                continue
            servers, clients = _all_rounds(truth, U, V, participants, local_steps, replacement, 0.3)
            gap = max(relative(*both) for both in zip(servers, clients, strict=True))
            yield (
                gap,
                {
                    "M": n,
                    "d": d,
                    "C": participants,
                    "tau": local_steps,
                    "replacement": replacement,
                },
            )


def _sampled(budget, rng, replacement, first=0.0) -> Mean:
    """Measure how far `perfedsi` moves the server, in units of what (13) says, round by round.

    Moves are looked at along that mean. With probability `first` a round is taken by client 0
    alone: a biased sampler, which has to be noticed.
    """
    truth = SideInformationCompletion(
        np.eye(2, 1), np.eye(2, 1), np.array([[2.0, 0], [0, 1], [1, 1]])
    )
    U, V = np.array([[1.0], [0.5]]), np.array([[0.5], [1.0]])
    _, clients = _all_rounds(truth, U, V, 1, 2, True, 0.1)
    mean = np.concatenate(clients) - np.concatenate([U.ravel(), V.ravel()])
    alone = SideInformationCompletion(truth.U, truth.V, truth.Z[:1])
    moves = []
    for seed in rng.integers(2**63, size=budget(1500, 6000)):
        biased = rng.random() < first
        trace = lr.perfedsi(
            alone if biased else truth,
            step_size=0.1,
            rounds=1,
            local_steps=2,
            participants=1 if biased else 2,
            replacement=replacement,
            start=(U, V),
            rng=seed,
        )
        moved = np.concatenate([trace.state[name].ravel() for name in "UV"])
        moves.append((moved - np.concatenate([U.ravel(), V.ravel()])) @ mean / (mean @ mean))
    return Mean(
        moves,
        equals=1.0,
        quantity="mean move over E of (13)",
        name=f"rounds drawn with{'' if replacement else 'out'} replacement",
        strength=PROVED,
    )


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
def eq11_13(budget, rng, *, power=1.0, first=0.0):
    """Enumerate items, paths of items, and participants; the factor is d to a power, inverted.

    Rounds are drawn as well; `first` is the share of them that client 0 takes alone.
    """
    local, overall = _unbiased(budget, rng, power)
    elsewhere = {"VU' - M*'": "(42), transposed"}
    for found, name, phrase, printed in (
        (_residuals(rng), "(12)'s residual", "V U' - M_*", elsewhere),
        (local, "E ghat is", "gradient descent steps on the local losses", {}),
    ):
        parts = [
            Identity(deviations, 1e-12, name=reading, strength=PROVED)
            for reading, deviations in found.items()
        ]
        yield Readings(parts, name=name, phrase=phrase, printed_elsewhere=printed)
    name = "d E ghat, averaged over clients, is the gradient of L"
    yield Identity(overall, name=name, strength=PROVED)
    yield Identity(_server(budget, rng), name="(13)", strength=PROVED)
    for replacement in (True, False):
        yield _sampled(budget, rng, replacement, first)


@statement(
    "perfedsi.assumptionC1.twice",
    place="Appendix C.1, after Assumption C.1",
    hypotheses=(SAMPLING,),
    latex=r"P(\text{a client is drawn twice}) = 1 - \prod_{j<C}\Big(1 - \frac jM\Big) \le"
    r" \frac{C(C - 1)}{2M} \to 0 \quad (M \to \infty)",
    plain="That a client is drawn twice in a round is unlikely where C is a constant and M large.",
    negative_control={"pairs": Fraction(1, 4)},
    stronger={"pairs": -1},
)
def twice(budget, rng, *, pairs=Fraction(1, 2)):
    """Compare the probability with C (C - 1)/(2 M) in fractions; it is no constant's otherwise."""
    cases = []
    for participants, clients in product(range(1, 41), (40, 100, 500, 10**4, 10**8)):
        none = Fraction(1)
        for j in range(participants):
            none *= 1 - Fraction(j, clients)
        bound = pairs * participants * (participants - 1) / clients
        cases.append((1 - none, bound, {"C": participants, "M": clients}))
    yield Cases(cases, quantity="probability", name="union bound", strength=PROVED)
    for participants, clients in ((4, 20), (20, 100), (100, 500)):
        chance = 1.0 - float(np.prod(1.0 - np.arange(participants) / clients))
        at = {"C": participants, "M": clients}
        yield Fact("probability that a client is drawn twice", chance, setting=at)


# Remark 2.2


def _residual(Z):
    """Return min over theta of |Z theta - 1|/sqrt(n)."""
    ones = np.ones(len(Z))
    left = Z @ np.linalg.lstsq(Z, ones, rcond=None)[0] - ones
    return float(np.linalg.norm(left)) / np.sqrt(len(Z))


def _designs(budget, rng):
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
    cases: dict[str, list] = {"W(z) = V'z + b": [], "W(z) = V'z": []}
    most: dict[str, float] = {}
    for Z, instance in _designs(budget, rng):
        column = np.ones(len(Z))
        column[:without] = 0.0
        for found, design in zip(cases.values(), (np.column_stack([Z, column]), Z), strict=True):
            found.append((_residual(design), instance))
        if instance["M"] > instance["k"] or instance["Z"] == "one-hot":
            most[instance["Z"]] = max(_residual(Z), most.get(instance["Z"], 0.0))
    whole, linear = (
        Identity(found, 1e-10, quantity="root mean square of W - 1", name=name, strength=strength)
        for (name, found), strength in zip(cases.items(), (PROVED, ""), strict=True)
    )
    yield Readings([whole, linear], name="Model 2: W = 1", phrase="can learn a W")
    for name, left in most.items():
        yield Fact(f"largest root mean square of V'z - 1, Z {name}", left)


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
    cases = []
    for Z, instance in _designs(budget, rng):
        if constant:
            column = np.ones(len(Z))
            column[:without] = 0.0
            Z = np.column_stack([Z, column])
        cases.append((_residual(Z), instance))
    yield Identity(
        cases, 1e-10, quantity="root mean square of W - 1", name="1 is in the columns of Z"
    )
    if not constant:
        yield Cases(
            [(*sides_of_ones(), {"z": [1, 2] * 8, "V": "3/5"})],
            quantity="least sum of (V'z - 1)^2",
            name="in fractions",
        )
