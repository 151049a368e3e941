"""Appendix B: the Gram matrices that neural collapse asks of heads."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import minimize

from linrep.claims import Cases, Fact, Identity, Readings, proved, statement
from linrep.claims.deviations import identities, relative
from linrep.claims.evidence import PROVED
from linrep.claims.quantities import UPPER
from linrep.papers.flute.counterexamples import nc as printed
from linrep.problems.subspace import random_frame

EXACT = 1e-12


def _target(mask, classes, power=0.5):
    """Return (classes - 1)^-power uu' * (I - 11'/classes), u being 1 on a client's classes."""
    m = mask.size
    return np.outer(mask, mask) * (np.eye(m) - 1.0 / classes) / (classes - 1.0) ** power


def _masks(budget, rng):
    """Yield the classes that a client has as 0 or 1: all m to 10, all sizes from 2, some sets."""
    for m in range(2, 11):
        for own in range(2, m + 1):
            for _ in range(budget(1, 4)):
                mask = np.zeros(m)
                mask[rng.permutation(m)[:own]] = 1.0
                yield mask, own


def _size_of_target(m, own, count=2.0):
    """Return the Frobenius norm of the right side of (60)."""
    return np.sqrt(own * (m * m - count * m + own) / (m - 1.0)) / m


def _simplex(m, k, rng):
    """Return a general simplex frame, k x m, of Definition B.1: random frame, random length."""
    M = np.sqrt(m / (m - 1.0)) * (np.eye(m) - 1.0 / m)
    return 10.0 ** rng.uniform(-2.0, 2.0) * random_frame(k, m, rng) @ M


def _normalized(H):
    """Return H'H over its Frobenius norm."""
    gram = H.T @ H
    return gram / np.linalg.norm(gram)


def _cosines(gram, mask):
    """Return the cosines between the columns of different own classes."""
    own = np.flatnonzero(mask)
    lengths = np.sqrt(np.diag(gram)[own])
    return (gram[np.ix_(own, own)] / np.outer(lengths, lengths))[np.triu_indices(own.size, 1)]


def _definition(rng):
    """Return how far (52) is from (53), and the columns from unit length and equal angles."""
    cases = []
    for m in range(2, 11):
        M = np.sqrt(m / (m - 1.0)) * (np.eye(m) - 1.0 / m)
        expected = m / (m - 1.0) * (np.eye(m) - 1.0 / m)
        H = _simplex(m, m + int(rng.integers(3)), rng)
        general = _normalized(H) * np.linalg.norm(expected)
        error = max(relative(found, expected) for found in (M.T @ M, M @ M.T, general))
        angles = max(
            relative(np.diag(expected), 1.0),
            relative(_cosines(expected, np.ones(m)), -1.0 / (m - 1.0)),
        )
        cases.append((max(error, angles), {"m": m}))
    return Identity(cases, EXACT, name="(53) and Definition B.1")


def _figure2():
    """Return how far the angles of Figure 2, opposite and not, are from those of (57) and (60)."""
    mask = np.array([1.0, 1.0, 0.0])
    cases = [
        (abs(_cosines(_target(mask, classes), mask).item() - cosine), {"cosine": cosine})
        for classes, cosine in ((2, -1.0), (3, -0.5))
    ]
    return Identity(cases, EXACT, name="Figure 2: cosines -1 and -1/2")


def _squared_norms(equation, power):
    """Return how far the square of the right side's norm is from 1, in exact fractions."""
    cases = []
    for m in range(3, 11):
        for own in range(2, m):
            square = printed.square(own, m if equation == "(60)" else own, Fraction(power))
            where = {"m": m, "m'": own, "square of the norm": str(square)}
            cases.append((abs(square - 1), Fraction(0), where))
    return Cases(
        cases,
        name=f"{equation}: norm 1 of the right side, exactly",
        quantity="square of the norm, off 1 by",
        strength=PROVED,
    )


@statement(
    "flute.nc",
    place="Appendix B, (51)-(53), (57), (60), Figure 2",
    latex=r"\frac{H_i^\top H_i}{\|H_i^\top H_i\|_F} = \frac1{\sqrt{m' - 1}}u_iu_i^\top\odot"
    r"\Big(I - \frac{11^\top}{m'}\Big) \text{ locally}, \qquad ="
    r" \frac1{\sqrt{m - 1}}u_iu_i^\top\odot\Big(I - \frac{11^\top}m\Big) \text{ globally}",
    plain="The clients' normalized Gram matrices of heads equal the printed masked simplexes.",
    negative_control={"power": 1.0},
    holds_with={"equations": ("(57)",)},
)
def nc(budget, rng, *, power=0.5, equations=("(60)", "(57)")):
    """Compare Frobenius norms of both sides, and both sides for heads that are simplex frames.

    Heads at a stationary point of (54) sum to 0 over all classes.
    """
    names = [
        f"{equation}: {part}"
        for equation in equations
        for part in ("norm 1 of the right side", "columns of a simplex", "heads that sum to 0")
    ]
    cases: dict[str, list] = {name: [] for name in names}
    hot: dict[str, list] = {"1 on all classes of the client": [], "1 on a single class": []}
    left: dict[str, list] = {"own heads only, as printed": [], "all m, masked afterwards": []}
    for mask, own in _masks(budget, rng):
        m = mask.size
        where = {"m": m, "m'": own, "classes": np.flatnonzero(mask).tolist()}
        whole, part = _simplex(m, m + 1, rng), np.zeros((m + 1, m))
        part[:, mask > 0.0] = _simplex(own, m + 1, rng)
        for equation in equations:
            classes, H = (m, whole * mask) if equation == "(60)" else (own, part)
            T = _target(mask, classes, power)
            size, total = float(np.linalg.norm(T)), float(np.sum(T))
            found = (
                (abs(size - 1.0), {"norm of the right side": size}),
                (relative(_normalized(H), T), {"norm of the right side": size}),
                (abs(total), {"sum of its entries": total}),
            )
            own_names = (name for name in names if name.startswith(equation))
            for name, (error, more) in zip(own_names, found, strict=True):
                cases[name].append((error, where | more))
        one = (np.arange(m) == np.flatnonzero(mask)[0]).astype(float)
        for reading, u in zip(hot, (mask, one), strict=True):
            hot[reading].append((abs(np.linalg.norm(_target(u, own, power)) - 1.0), where))
        masked = np.outer(mask, mask) * _normalized(whole)
        for reading, gram in zip(left, (_normalized(whole * mask), masked), strict=True):
            left[reading].append((relative(gram, _target(mask, m, power)), where))
    for equation in equations:
        yield _squared_norms(equation, power)
    yield from identities(cases, EXACT)
    yield _definition(rng)
    yield _figure2()
    yield Readings(
        identities(hot, EXACT), name="'one-hot' u", phrase="u_i is an m-dimensional one-hot vector"
    )
    if "(60)" in equations:
        yield Readings(
            identities(left, EXACT), name="left side of (60)", phrase="H_i'H_i/|H_i'H_i|_F"
        )


def _least_penalty(T, k, rng, steps):
    """Return the least |H'H/|H'H| - T| that L-BFGS finds from a random H (k, m)."""
    m = T.shape[0]

    def function(entries):
        H = entries.reshape(k, m)
        gram = H.T @ H
        size = np.linalg.norm(gram)
        # |G - T|^2 for G of norm 1, and its gradient.
        inner = np.sum(gram * T)
        value = 1.0 - 2.0 * inner / size + np.sum(T * T)
        slope = -2.0 * (T / size - inner * gram / size**3)
        return value, 2.0 * (H @ slope).ravel()

    start = rng.standard_normal(k * m)
    found = minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "ftol": 0.0, "gtol": 1e-12},
    )
    return np.sqrt(max(found.fun, 0.0))


def _softmax_loss(H, F, b, weights, decay):
    """Return (54) of one client: H (k, m) its heads, F (k, m) the classes' features, b biases.

    `weights` are the shares of its samples of each class; complex entries allowed.
    """
    logits = H.T @ F + b[:, None]
    top = logits.real.max(axis=0)
    losses = top + np.log(np.sum(np.exp(logits - top), axis=0)) - np.diag(logits)
    return weights @ losses + decay[0] * weights @ np.sum(F * F, axis=0) + decay[1] * np.sum(H * H)


def _column_sums(budget, rng):
    """Return how far the derivative of (54) along equal changes of all heads is from 2 l_2 H 1."""
    cases = []
    for _ in range(budget(20, 100)):
        m, k = int(rng.integers(2, 7)), int(rng.integers(1, 7))
        H, F, b = rng.standard_normal((k, m)), rng.standard_normal((k, m)), rng.standard_normal(m)
        own = rng.permutation(m)[: int(rng.integers(1, m + 1))]
        weights = np.zeros(m)
        weights[own] = rng.dirichlet(np.ones(own.size))
        decay = 10.0 ** rng.uniform(-3.0, 0.0, 2)
        slope = [
            _softmax_loss(H + 1e-100j * np.eye(k)[:, [row]], F, b, weights, decay).imag / 1e-100
            for row in range(k)
        ]
        error = np.abs(slope - 2.0 * decay[1] * H.sum(axis=1)).max()
        cases.append((error / (np.abs(F).max() + np.abs(H).max()), {"m": m, "k": k}))
    return Identity(cases, EXACT, name="(54): its slope along all heads of a client at once")


def _minimize(clients, m, decay, rng):
    """Return features (k, m) and each client's own heads (M, k, m') that minimize the sum of (54).

    Features are free and shared, as Condition 1 has it. Classes that a client lacks are left out of
    its losses: the limit of biases at minus infinity, which lowers (54), and of heads at 0.
    """
    k, M, own = m, len(clients), len(clients[0])
    F_size, H_size = k * m, M * k * own
    at = np.arange(own)

    def function(x):
        F, H = x[:F_size].reshape(k, m), x[F_size : F_size + H_size].reshape(M, k, own)
        b = x[F_size + H_size :].reshape(M, own)
        value, in_F, in_H, in_b = 0.0, np.zeros_like(F), 2.0 * decay * H, np.zeros_like(b)
        for i, classes in enumerate(clients):
            logits = H[i].T @ F[:, classes] + b[i][:, None]
            shares = np.exp(logits - logits.max(axis=0))
            shares /= shares.sum(axis=0)
            value -= np.mean(np.log(shares[at, at]))
            value += decay * (np.mean(np.sum(F[:, classes] ** 2, axis=0)) + np.sum(H[i] ** 2))
            slope = (shares - np.eye(own)) / own
            in_H[i] += F[:, classes] @ slope.T
            in_F[:, classes] += H[i] @ slope + 2.0 * decay * F[:, classes] / own
            in_b[i] = slope.sum(axis=1)
        return value, np.concatenate([in_F.ravel(), in_H.ravel(), in_b.ravel()])

    ends = [
        minimize(
            function,
            rng.standard_normal(F_size + H_size + M * own),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 1e-10},
        )
        for _ in range(3)
    ]
    x = min(ends, key=lambda end: end.fun).x
    return x[:F_size].reshape(k, m), x[F_size : F_size + H_size].reshape(M, k, own)


def _minima(budget, rng, threshold):
    """Yield how far heads at minima of (54) are from (57), and cosines at Figure 2's."""
    cases, cosines = [], {}
    for m, own in ((3, 2), (4, 2), (4, 3), (5, 2), (5, 4))[: budget(3, 5)]:
        several = [list(chosen) for chosen in combinations(range(m), own)]
        for clients in ([several[0]], several):
            F, heads = _minimize(clients, m, 0.005, rng)
            for classes, H in zip(clients, heads, strict=True):
                where = {"m": m, "m'": own, "clients": len(clients), "classes": classes}
                cases.append((relative(_normalized(H), _target(np.ones(own), own)), where))
        if m == 3:
            H, f = heads[0], F[:, several[0][0]]
            other = heads[1][:, several[1].index(several[0][0])]
            cosines = {
                "a client's heads (-1/2 by (60))": _cosines(H.T @ H, np.ones(2)).item(),
                "two clients' heads of one class (1 in the text)": (
                    H[:, 0] @ other / np.linalg.norm(H[:, 0]) / np.linalg.norm(other)
                ),
                "a head and its feature (1 in (59))": (
                    f @ H[:, 0] / np.linalg.norm(f) / np.linalg.norm(H[:, 0])
                ),
            }
    cases += _near_threshold(budget, rng, threshold)
    yield Identity(cases, 1e-6, name="(57) at the minimum, for one and for all sets of classes")
    for between, cosine in cosines.items():
        yield Fact(f"cosine at Figure 2's minimum, {between}", cosine)


def _near_threshold(budget, rng, threshold):
    """Return deviations from (57) at 98 % of the largest lambda_1 = lambda_2 that is allowed.

    Beyond it heads are 0 at the minimum, and have no angles.
    """
    cases = []
    for m, own in ((3, 2), (4, 3))[: budget(1, 2)]:
        several = [list(chosen) for chosen in combinations(range(m), own)]
        for clients, ratio in (([several[0]], 1.0), (several, m * (own - 1) / (own * (m - 1)))):
            decay = 0.98 * float(threshold * ratio / (4.0 * own)) ** 0.5
            _, heads = _minimize(clients, m, decay, rng)
            where = {"m": m, "m'": own, "clients": len(clients), "lambda_1, lambda_2": decay}
            for H in heads:
                error = relative(_normalized(H), _target(np.ones(own), own))
                cases.append((error if np.linalg.norm(H) > 1e-3 else np.inf, where))
    return cases


@statement(
    "flute.nc.corrected",
    place="Appendix B, (51), (54), (60)",
    latex=r"\nabla_{H_i}(54) = 0 \Rightarrow H_i1 = 0; \quad |\mathcal D_i^c| \text{ equal},"
    r"\ 4m'\lambda_1\lambda_2 < \tfrac{m(m' - 1)}{m'(m - 1)} \Rightarrow (57)\text{ for one client,"
    r" and for all}\tbinom m{m'}\text{ sets of classes}; \quad"
    r" \min\mathcal{NC}_i = 1 - \frac1m\sqrt{\frac{m'(m^2 - 2m + m')}{m - 1}}",
    plain="Heads satisfy (57) also at the minimum over all clients, and NC_i as printed does not "
    "reach 0.",
    negative_control={"count": 2.1},
    stronger={"count": 0, "threshold": 1},
    corrects="flute.nc",
)
def nc_corrected(budget, rng, *, count=2.0, threshold=1.0):
    """Differentiate (54), minimize it with free features, and descend on NC_i as printed."""
    sizes, attained, never = [], [], []
    for mask, own in _masks(budget, rng):
        m = mask.size
        where, T = {"m": m, "m'": own}, _target(mask, m)
        size = _size_of_target(m, own, count)
        sizes.append((abs(float(np.linalg.norm(T)) / size - 1.0), where))
        values, vectors = np.linalg.eigh(T)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        found = float(np.linalg.norm(_normalized(root) - T))
        attained.append((abs(found - (1.0 - size)), where))
        if own < m and m <= budget(6, 10):
            never.append((1.0 - size, _least_penalty(T, m, rng, 2000) + 1e-9, where))
    minima = list(_minima(budget, rng, threshold))
    yield Identity(sizes, EXACT, name="norm of the right side of (60)", strength=PROVED)
    yield Identity(
        attained, EXACT, name="least NC_i, attained where H'H is a multiple of it", strength=PROVED
    )
    yield Cases(
        never,
        quantity="least NC_i",
        name="least NC_i, by descent",
        strength=PROVED,
        predicted_is=UPPER,
    )
    yield proved(_column_sums(budget, rng))
    for item in minima:
        yield item if isinstance(item, Fact) else proved(item)
