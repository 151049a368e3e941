"""Appendix B: the Gram matrices that neural collapse asks of heads."""

from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
from scipy.optimize import minimize

from linrep.claims import Identity, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Grid, equal, law
from linrep.claims.measurements import identities, relative
from linrep.papers.flute.counterexamples import nc as printed
from linrep.problems.subspace import random_frame

EXACT = 1e-12


def target(mask, classes, power=0.5):
    """Return (classes - 1)^-power uu' * (I - 11'/classes), u being 1 on a client's classes."""
    m = mask.size
    return np.outer(mask, mask) * (np.eye(m) - 1.0 / classes) / (classes - 1.0) ** power


def simplex(m, k, rng):
    """Return a general simplex frame, (k, m), of Definition B.1: random frame, random length."""
    frame = np.sqrt(m / (m - 1.0)) * random_frame(k, m, rng) @ (np.eye(m) - 1.0 / m)
    return 10.0 ** rng.uniform(-2.0, 2.0) * frame


def normalized(H):
    """Return H'H over its Frobenius norm."""
    gram = H.T @ H
    return gram / np.linalg.norm(gram)


def masks(budget, rng):
    """Yield the classes that a client has as 0 or 1: all m to 10, all sizes from 2, some sets."""
    for m in range(2, 11):
        for own in range(2, m + 1):
            for _ in range(budget(1, 4)):
                mask = np.zeros(m)
                mask[rng.permutation(m)[:own]] = 1.0
                yield mask, own


def cosine(a, b):
    """Return the cosine between two vectors."""
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@law(
    "flute.nc", "Appendix B, (57), (60)",
    r"\frac{H_i^\top H_i}{\|H_i^\top H_i\|_F} = \frac1{\sqrt{m' - 1}}u_iu_i^\top\odot"
    r"\Big(I - \frac{11^\top}{m'}\Big) \text{ locally}, \qquad ="
    r" \frac1{\sqrt{m - 1}}u_iu_i^\top\odot\Big(I - \frac{11^\top}m\Big) \text{ globally}",
    over=Grid(m=range(3, 11)), wrong={"power": 1.0}, holds_with={"equations": ("(57)",)},
)  # fmt: skip
def nc(m, *, power=0.5, equations=("(60)", "(57)")):
    """The clients' normalized Gram matrices of heads equal the printed masked simplexes."""
    # Compared are the squares of both norms.
    for equation, own in product(equations, range(2, m)):
        square = printed.square(own, m if equation == "(60)" else own, Fraction(power))
        yield f"{equation}: norm 1 of the right side", equal(square, Fraction(1)), {"m'": own}


@nc.also
def of_a_simplex(budget, rng, *, power=0.5, equations=("(60)", "(57)")):
    """Compare both sides for heads that are a simplex of a client's classes, or of all."""
    local: list = []
    left: dict[str, list] = {"own heads only, as printed": [], "all m, masked afterwards": []}
    for mask, own in masks(budget, rng):
        m, at = mask.size, {"m": mask.size, "m'": own}
        of_own = normalized(simplex(own, m + 1, rng))
        local.append((relative(of_own, target(np.ones(own), own, power)), at))
        whole = simplex(m, m + 1, rng)
        grams = normalized(whole * mask), np.outer(mask, mask) * normalized(whole)
        for reading, gram in zip(left, grams, strict=True):
            left[reading].append((relative(gram, target(mask, m, power)), at))
    yield Identity(local, EXACT, name="(57): columns of a simplex")
    if "(60)" in equations:
        name, phrase = "left side of (60)", "H_i'H_i/|H_i'H_i|_F"
        yield Readings(identities(left, EXACT), name=name, phrase=phrase)


def minimum(clients, m, copies, decay, rng, *, every=False):
    """Return features (M, k, m', copies) and heads (M, k, m) at the least (54) over a few starts.

    Each client has its own samples, `copies` of each of its classes. By Condition 1 its classes'
    means are those of all clients: what is free are the means and each client's differences from
    them. Classes that a client lacks are left out of its losses, the limit of their biases at minus
    infinity; with `every` they are there and there are no biases.
    """
    k, M, own = m, len(clients), len(clients[0])
    shapes = (k, m), (M, k, own, copies), (M, k, m), (M, m)
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])

    def split(x):
        return [x[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), shapes, strict=True)]

    def features(means, apart, i):
        return means[:, clients[i], None] + apart[i] - apart[i].mean(axis=2, keepdims=True)

    def function(x):
        means, apart, H, b = split(x)
        out = [np.zeros(shape) for shape in shapes]
        value = 0.0
        for i, classes in enumerate(clients):
            F, seen = features(means, apart, i), list(range(m)) if every else classes
            logits = np.einsum("kj,kcr->jcr", H[i][:, seen], F)
            if not every:
                logits = logits + b[i][seen][:, None, None]
            shares = np.exp(logits - logits.max(axis=0))
            shares /= shares.sum(axis=0)
            at = [seen.index(c) for c in classes]
            value -= np.mean(np.log(shares[at, range(own)]))
            value += decay[0] * np.sum(F**2) / (own * copies) + decay[1] * np.sum(H[i] ** 2)
            slope = shares.copy()
            slope[at, range(own)] -= 1.0
            slope /= own * copies
            in_F = np.einsum("kj,jcr->kcr", H[i][:, seen], slope) + 2 * decay[0] * F / slope[0].size
            out[0][:, classes] += in_F.sum(axis=2)
            out[1][i] = in_F - in_F.mean(axis=2, keepdims=True)
            out[2][i] = 2 * decay[1] * H[i]
            out[2][i][:, seen] += np.einsum("kcr,jcr->kj", F, slope)
            if not every:
                out[3][i][seen] = slope.sum(axis=(1, 2))
        return value, np.concatenate([each.ravel() for each in out])

    options = {"maxiter": 20_000, "maxfun": 40_000, "maxcor": 50, "ftol": 0.0, "gtol": 1e-11}
    starts = (rng.standard_normal(ends[-1]) for _ in range(3))
    found = [minimize(function, x, jac=True, method="L-BFGS-B", options=options) for x in starts]
    means, apart, H, _ = split(min(found, key=lambda end: end.fun).x)
    return np.array([features(means, apart, i) for i in range(M)]), H


def deviations(clients, m, decay, rng, floor=0.0):
    """Yield how far each client's heads are from (57), and from a sum of 0, where (54) is least.

    Heads of norm up to a floor have no angles.
    """
    _, heads = minimum(clients, m, 1, (decay, decay), rng)
    own = len(clients[0])
    for classes, H in zip(clients, heads, strict=True):
        where = {"m": m, "m'": own, "clients": len(clients), "classes": classes, "lambda": decay}
        error = relative(normalized(H[:, classes]), target(np.ones(own), own))
        error = max(error, float(np.linalg.norm(H.sum(axis=1)) / np.linalg.norm(H)))
        yield error if np.linalg.norm(H) > floor else np.inf, where


def minima(budget, rng, threshold):
    """Yield how far heads at minima of (54) are from (57).

    Also at 98 % of the largest lambda_1 = lambda_2 that is allowed, beyond which heads are 0.
    """
    for m, own in ((3, 2), (4, 2), (4, 3), (5, 2), (5, 4))[: budget(3, 5)]:
        several = [list(chosen) for chosen in combinations(range(m), own)]
        for clients in ([several[0]], several):
            yield from deviations(clients, m, 0.005, rng)
    for m, own in ((3, 2), (4, 3))[: budget(1, 2)]:
        several = [list(chosen) for chosen in combinations(range(m), own)]
        for clients, ratio in (([several[0]], 1.0), (several, m * (own - 1) / (own * (m - 1)))):
            decay = 0.98 * float(threshold * ratio / (4.0 * own)) ** 0.5
            yield from deviations(clients, m, decay, rng, 1e-3)


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
    """Minimize (54) with free features, and take the least NC_i as printed.

    It is at least 1 less the norm of the right side, and attained there.
    """
    sizes, attained = [], []
    for mask, own in masks(budget, rng):
        m = mask.size
        where, T = {"m": m, "m'": own}, target(mask, m)
        size = np.sqrt(own * (m * m - count * m + own) / (m - 1.0)) / m
        sizes.append((abs(float(np.linalg.norm(T)) / size - 1.0), where))
        values, vectors = np.linalg.eigh(T)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        found = float(np.linalg.norm(normalized(root) - T))
        attained.append((abs(found - (1.0 - size)), where))
    at_minima = list(minima(budget, rng, threshold))
    yield Identity(sizes, EXACT, name="norm of the right side of (60)", strength=PROVED)
    name = "least NC_i, attained where H'H is a multiple of it"
    yield Identity(attained, EXACT, name=name, strength=PROVED)
    name = "(57) and H_i 1 = 0 at the minimum, for one and for all sets of classes"
    yield Identity(at_minima, 1e-6, name=name, strength=PROVED)
