"""Identities of the analysis: rounds in operator form, exact heads, and what follows from them."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from linrep.claims import Cases, Fact, Identity, Readings, search, statement
from linrep.claims._parts import relative
from linrep.claims.fedrep._common import DESIGNS, SUB_GAUSSIAN, exact_heads, instance
from linrep.subspace import distance, orthonormalize
from linrep.theory.fedrep_limits import population_bound


def _batch(truth, m, rng, clients=None):
    """Return covariates (clients, m, d) and labels (clients, m) of one batch."""
    data = truth.draw(m, rng=rng, clients=clients)
    return data.X.reshape(-1, m, truth.d), data.y.reshape(-1, m)


def _sensing(X):
    """Return the operator A as a matrix: row (i, j) is A_ij = e_i x_ij', flattened."""
    rn, m, d = X.shape
    A = np.zeros((rn, m, rn, d))
    for i in range(rn):
        A[i, :, i] = X[i]
    return A.reshape(rn * m, rn * d)


def _moments(X):
    """Return Pi^i = X_i'X_i/m."""
    return np.einsum("imd,ime->ide", X, X) / X.shape[1]


# (13)-(16)


@statement(
    "fedrep.eq13_16",
    place="Appendix B.1, (7), (13)-(16); (27), (41)",
    kind="identity",
    latex=r"F = \tfrac{1}{2rnm}\mathbb E\|Y - \mathcal A(W_{\mathcal I}B^\top)\|_2^2, \quad"
    r"\bar B^{t+1} = \hat B^t - \tfrac{\eta}{rnm}\big(\mathcal A^\dagger\mathcal A"
    r"(W^{t+1}\hat B^{t\top} - W^*\hat B^{*\top})\big)^\top W^{t+1}, \quad"
    r"\hat B^{t+1}, R^{t+1} = \mathrm{QR}(\bar B^t)",
    plain="A round of Algorithm 2 is one of alternating minimization and descent in matrix sensing",
    negative_control={"factor": 1.1},
)
def eq13_16(budget, rng, *, factor=1.0):
    """Compare Algorithm 2, client by client, with the operator form, and its readings."""
    names = ("(13) is (7)", "(14)", "adjoint", "(41): A*A/m has rows Pi^i q_i")
    plain: dict[str, list] = {name: [] for name in names}
    step: dict[str, list] = {
        "adjoint a -> sum a_ij A_ij": [],
        "printed M -> sum <A_ij, M> A_ij, taken as all of A'A": [],
        "printed, applied to A(M)": [],
    }
    index: dict[str, list] = {"QR of B-bar^(t+1)": [], "printed, of B-bar^t": []}
    places: dict[str, list] = {
        "p = 1 ... k": [],
        "printed, p = 0 ... k - 1": [],
        "p = 0 ... k - 1 and index p rn + i": [],
    }
    # In the second setting m = d, so that the printed adjoint can be applied to A(M).
    settings = [(5, 9, 12, 2, 5), (5, 8, 8, 3, 2), (6, 12, 10, 4, 4), (4, 6, 7, 1, 1)]
    for n, m, d, k, rn in settings:
        for design in budget(("gaussian", "uniform"), DESIGNS):
            where = {"n": n, "m": m, "d": d, "k": k, "rn": rn, "design": design}
            truth, B = instance(n, d, k, rng, distance=None, design=design)
            eta = 0.25 / truth.sigma_max() ** 2
            previous = B
            W = rng.standard_normal((n, k))
            plain["(13) is (7)"].append((_loss_deviation(truth, B, W, m, rn, rng, factor), where))
            for _ in range(5):
                chosen = np.sort(rng.permutation(n)[:rn])
                X, y = _batch(truth, m, rng, chosen)
                A, heads = _sensing(X), exact_heads(X, y, B)
                condition = np.linalg.cond(X @ B).max()
                stacked = A @ np.kron(np.eye(rn), B)
                W = np.linalg.lstsq(stacked, y.ravel(), rcond=None)[0].reshape(rn, k)
                plain["(14)"].append((relative(W, heads) / condition, where))
                Q = W @ B.T - truth.W[chosen] @ truth.B.T
                a, M = rng.standard_normal(rn * m), rng.standard_normal((rn, d))
                pair = (A @ M.ravel()) @ a, M.ravel() @ (A.T @ a)
                plain["adjoint"].append((relative(*pair, 1.0), where))
                rows = np.einsum("ide,ie->id", _moments(X), Q)
                composed = (A.T @ (A @ Q.ravel())).reshape(rn, d)
                plain["(41): A*A/m has rows Pi^i q_i"].append((relative(composed / m, rows), where))
                # Algorithm 2: the mean of the clients' own steps.
                gradients = [
                    x.T @ (x @ B @ w - z)[:, None] * w / m
                    for x, z, w in zip(X, y, heads, strict=True)
                ]
                stepped = np.mean([B - eta * gradient for gradient in gradients], axis=0)
                size = relative(stepped, B)
                for reading, S in _adjoints(X, A, Q, composed):
                    operator = B - factor * eta / (rn * m) * S.T @ W
                    error = relative(operator, stepped) / condition / min(1.0, size)
                    step[reading].append((error, where))
                new = orthonormalize(stepped)
                operator = B - factor * eta / (rn * m) * composed.T @ W
                index["QR of B-bar^(t+1)"].append((distance(operator, new), where))
                index["printed, of B-bar^t"].append((distance(previous, new), where))
                B, previous = new, stepped
            for reading, error in _index_sets(truth.W[:rn]):
                places[reading].append((error, where))
    for name, cases in plain.items():
        yield Identity(cases, 1e-12, name=name)
    yield _readings(step, 1e-12, "(15)")
    yield _readings(index, 1e-12, "(16)")
    yield _readings(places, 1e-12, "(27)")


def _readings(cases, tolerance, name):
    """Return the readings of an identity, of which one has to hold."""
    parts = [Identity(given, tolerance, name=reading) for reading, given in cases.items()]
    return Readings(parts, name=name)


def _loss_deviation(truth, B, W, m, rn, rng, factor):
    """Return how far (13), the mean over all sets of rn clients, is from (7), on one batch each."""
    n = truth.n
    X, y = _batch(truth, m, rng)
    clients = [np.mean((z - x @ B @ w) ** 2) / 2.0 for x, z, w in zip(X, y, W, strict=True)]
    sets = [list(chosen) for chosen in combinations(range(n), rn)]
    values = []
    for chosen in sets:
        A = _sensing(X[chosen])
        labels = A @ (truth.W[chosen] @ truth.B.T).ravel()
        residual = labels - A @ (W[chosen] @ B.T).ravel()
        values.append(factor * residual @ residual / (2 * rn * m))
    return relative(np.mean(values), np.mean(clients))


def _adjoints(X, A, Q, composed):
    """Yield each reading of the adjoint in (15) with what it makes of Q."""
    rn, m, d = X.shape
    values = A @ Q.ravel()
    yield (
        "adjoint a -> sum a_ij A_ij",
        np.einsum("im,imd->id", values.reshape(rn, m), X),
    )
    products = A @ Q.ravel()
    total = sum(product * row for product, row in zip(products, A, strict=True))
    yield "printed M -> sum <A_ij, M> A_ij, taken as all of A'A", total.reshape(rn, d)
    if m == d:
        yield "printed, applied to A(M)", (A.T @ (A @ values)).reshape(rn, d)


def _index_sets(W):
    """Yield each reading of the index set of (27) and how far its vector is from w_i."""
    rn, k = W.shape
    stacked = W.T.ravel()  # columns below each other
    sets = {
        "p = 1 ... k": (range(1, k + 1), -1),
        "printed, p = 0 ... k - 1": (range(k), -1),
        "p = 0 ... k - 1 and index p rn + i": (range(k), 0),
    }
    for reading, (indices, shift) in sets.items():
        errors = []
        for i in range(1, rn + 1):
            places = [(p + shift) * rn + i - 1 for p in indices]
            outside = min(places) < 0
            errors.append(np.inf if outside else relative(stacked[places], W[i - 1]))
        yield reading, max(errors)


# Lemma 1


@statement(
    "fedrep.lemma1",
    place="Lemma 1, (17)-(22), (27)",
    kind="identity",
    latex=r"W^{t+1} = W^*\hat B^{*\top}\hat B^t - F, \qquad "
    r"f_i = (G^i)^{-1}(G^i D - C^i) w_i^*",
    plain="Exact heads are B' B* w* less an explicit error",
    negative_control={"sign": 1.0},
)
def lemma1(budget, rng, *, sign=-1.0):
    """Compare least-squares heads with (17), its proof's block matrices, and readings of (21)."""
    names = ("rows (27)", "block matrices (19), (22)", "normal equations (18)")
    parts: dict[str, list] = {name: [] for name in names}
    product: dict[str, list] = {
        "(17), W* B*' B": [],
        "(21) as printed, W* B* B', d > k": [],
        "(21) as printed, d = k": [],
    }
    columns: dict[str, list] = {
        "sum of w_q* <b_q*, b_p>": [],
        "(20) as printed, the sum of w_q* b_p*' times b_q": [],
    }
    short: list = []
    # In the last setting d = k, so that the shapes of (21) fit.
    shapes = [(7, 6, 9, 2), (20, 12, 15, 3), (5, 9, 12, 4), (4, 8, 6, 1), (6, 9, 3, 3)]
    for _ in range(budget(1, 5, 50)):
        for n, m, d, k in shapes:
            for design in DESIGNS:
                where = {"n": n, "m": m, "d": d, "k": k, "design": design}
                truth, B = instance(n, d, k, rng, design=design)
                X, y = _batch(truth, m, rng)
                Pi, D = _moments(X), B.T @ truth.B
                G, C = B.T @ Pi @ B, B.T @ Pi @ truth.B
                condition = np.linalg.cond(G).max()
                if condition > 1e8:
                    continue  # Rademacher signs can make G^i singular
                heads = exact_heads(X, y, B)
                F = np.linalg.solve(G, ((G @ D - C) @ truth.W[:, :, None]))[:, :, 0]
                found = truth.W @ truth.B.T @ B + sign * F
                parts["rows (27)"].append((relative(found, heads) / condition, where))
                blocks = _blocks(X, B, truth)
                vector = truth.W.T.ravel()
                stacked = np.linalg.solve(blocks[0], (blocks[0] @ blocks[2] - blocks[1]) @ vector)
                error = relative(stacked.reshape(k, n).T, F, 1.0)
                parts["block matrices (19), (22)"].append((error / condition, where))
                pair = blocks[0] @ heads.T.ravel(), blocks[1] @ vector
                parts["normal equations (18)"].append((relative(*pair) / condition, where))
                product["(17), W* B*' B"].append((relative(found, heads) / condition, where))
                if d == k:
                    printed = relative(truth.W @ truth.B @ B.T + sign * F, heads)
                    product["(21) as printed, d = k"].append((printed, where))
                else:
                    product["(21) as printed, W* B* B', d > k"].append((np.inf, where))
                for reading, value in _columns(truth, B):
                    error = relative(value + sign * F, heads) / condition
                    columns[reading].append((error, where))
        for n, m, d, k in ((6, 3, 10, 4), (6, 1, 8, 3)):
            truth, B = instance(n, d, k, rng)
            X, y = _batch(truth, m, rng)
            short.append((_least_change(truth, B, X, y, sign), {"n": n, "m": m, "d": d, "k": k}))
    for name, cases in parts.items():
        yield Identity(cases, 1e-10, name=name)
    yield _readings(product, 1e-10, "(17) and (21)")
    yield _readings(columns, 1e-10, "(20)")
    yield Identity(short, 1e-10, name="m < k, pseudo-inverse: the minimizer nearest to B' B* w*")


def _blocks(X, B, truth):
    """Return G, C, D of (19): rnk x rnk, block (p, q) diagonal over the clients."""
    n, k = truth.W.shape
    A = _sensing(X).reshape(n, -1, n, X.shape[2])
    m = A.shape[1]
    images = np.einsum("imcd,dp->pcim", A, B)  # A_ij b_p, a vector over clients c
    targets = np.einsum("imcd,dp->pcim", A, truth.B)
    G = np.einsum("pcim,qeim->pcqe", images, images).reshape(n * k, n * k) / m
    C = np.einsum("pcim,qeim->pcqe", images, targets).reshape(n * k, n * k) / m
    return G, C, np.kron(B.T @ truth.B, np.eye(n))


def _columns(truth, B):
    """Yield each reading of (20) with W* B*' B, column by column."""
    k = B.shape[1]
    good, printed = np.zeros_like(truth.W), np.zeros_like(truth.W)
    for p in range(k):
        for q in range(k):
            good[:, p] += truth.W[:, q] * (truth.B[:, q] @ B[:, p])
            printed[:, p] += truth.W[:, q] * (truth.B[:, p] @ B[:, q])
    yield "sum of w_q* <b_q*, b_p>", good
    yield "(20) as printed, the sum of w_q* b_p*' times b_q", printed


def _least_change(truth, B, X, y, sign):
    """Return how far (17) with pseudo-inverses is from the minimizer nearest to B' B* w*."""
    D = B.T @ truth.B
    worst = 0.0
    for x, z, w in zip(X, y, truth.W, strict=True):
        pi = x.T @ x / len(x)
        G, C = B.T @ pi @ B, B.T @ pi @ truth.B
        found = D @ w + sign * np.linalg.pinv(G, rcond=1e-10) @ ((G @ D - C) @ w)
        nearest = D @ w + np.linalg.lstsq(x @ B, z - x @ B @ D @ w, rcond=None)[0]
        values = np.linalg.svd(x @ B, compute_uv=False)
        worst = max(worst, relative(found, nearest) * (values[-1] / values[0]) ** 2)
    return worst


# What exact heads imply


@statement(
    "fedrep.extra_identities",
    place="Algorithm 2; set against (70)-(84)",
    kind="identity",
    latex=r"S^t\hat B^t = 0, \quad Q^t\hat B^t = -F, \quad R^{t+1\top}R^{t+1} = I +"
    r"\tfrac{\eta^2}{(rn)^2}W^{t+1\top}S^tS^{t\top}W^{t+1}, \quad \|(R^{t+1})^{-1}\|_2 \le 1",
    plain="On the batch of the exact heads R'R is I plus a positive semidefinite matrix",
    negative_control={"sign": -1.0},
    hypotheses=(SUB_GAUSSIAN,),
)
def extra_identities(budget, rng, *, sign=1.0):
    """Take rounds on the heads' batch and on a second one, for m from 1 to 20 k."""
    names = (
        "S B = 0",
        "Q B = -F",
        "R'R",
        "m <= k: B stays",
        "span depends on the span alone",
        "split batch: Q B = -F",
        "split batch: span depends on the span alone",
    )
    parts: dict[str, list] = {name: [] for name in names}
    norms = []
    split_longest, split_moves, split_leak = 0.0, 0.0, 0.0
    for _ in range(budget(2, 15, 150)):
        for n, d, k in ((6, 9, 2), (12, 15, 4), (5, 4, 1), (3, 12, 3)):
            for m in (1, k, k + 1, 2 * k + 1, 20 * k):
                design = DESIGNS[rng.integers(len(DESIGNS))]
                where = {"n": n, "m": m, "d": d, "k": k, "design": design}
                truth, B = instance(n, d, k, rng, design=design)
                X, y = _batch(truth, m, rng)
                eta = 10.0 ** rng.uniform(-2.0, 1.0) / truth.sigma_max() ** 2
                W = exact_heads(X, y, B)
                squares = np.linalg.svd(X @ B, compute_uv=False) ** 2
                small = squares[:, min(m, k) - 1]
                if (small < 1e-6 * squares[:, 0]).any():
                    continue  # a batch in which samples nearly repeat each other
                condition = float((np.linalg.norm(X, 2, axis=(1, 2)) ** 2 / small).max())
                Q, S, new = _step(truth, B, W, X, eta)
                scale = max(1.0, float(np.abs(S).max()))
                heads_size = max(1.0, float(np.abs(W).max()))
                leak = np.abs(S @ B).max() / (scale * heads_size * condition)
                parts["S B = 0"].append((float(leak), where))
                second = _batch(truth, m, rng)[0]
                _, other, moved = _step(truth, B, W, second, eta)
                split_leak = max(split_leak, float(np.abs(other @ B).max() / np.abs(other).max()))
                if m >= k:
                    F = _errors(truth, B, X)
                    error = relative(Q @ B, -F, 1.0) / condition
                    parts["Q B = -F"].append((error, where))
                    parts["split batch: Q B = -F"].append((error, where))
                if m <= k:
                    stays = distance(new, B) / (max(1.0, eta) * condition * heads_size)
                    parts["m <= k: B stays"].append((stays, where))
                    if m == k:
                        split_moves = max(split_moves, distance(moved, B))
                predicted = np.eye(k) + sign * (eta / n) ** 2 * W.T @ S @ S.T @ W
                error = relative(new.T @ new, predicted) / (condition * max(1.0, eta) * heads_size)
                parts["R'R"].append((error, where))
                longest = 1.0 / np.linalg.svd(new, compute_uv=False)[-1]
                norms.append((float(longest), 1.0 + 1e-9, where))
                smallest = float(np.linalg.eigvalsh(moved.T @ moved)[0])
                split_longest = max(split_longest, smallest**-0.5)
                turn = orthonormalize(rng.standard_normal((k, k)))
                turned = exact_heads(X, y, B @ turn)
                for name, batch, target in (
                    ("span depends on the span alone", X, new),
                    ("split batch: span depends on the span alone", second, moved),
                ):
                    again = _step(truth, B @ turn, turned, batch, eta)[2]
                    values = np.linalg.svd(target, compute_uv=False)
                    loss = condition * max(1.0, heads_size**2 * eta) * values[0] / values[-1]
                    parts[name].append((distance(again, target) / loss, where))
    for name, cases in parts.items():
        yield Identity(cases, 1e-12, name=name)
    yield Cases(norms, name="|R^-1| <= 1", quantity="|R^-1|")
    yield _population(budget, rng)
    yield Fact("largest |R^-1| on a second batch", split_longest)
    yield Fact("largest |S B| over |S| on a second batch", split_leak)
    yield Fact("largest distance that B moves with m = k on a second batch", split_moves)


def _step(truth, B, W, X, eta):
    """Return Q, S and B-bar of a round with heads W and the gradient on X."""
    Q = W @ B.T - truth.W @ truth.B.T
    S = np.einsum("imd,im->id", X, np.einsum("imd,id->im", X, Q)) / X.shape[1]
    return Q, S, B - eta / truth.n * S.T @ W


def _errors(truth, B, X):
    """Return F of Lemma 1."""
    Pi, D = _moments(X), B.T @ truth.B
    G, C = B.T @ Pi @ B, B.T @ Pi @ truth.B
    return np.linalg.solve(G, (G @ D - C) @ truth.W[:, :, None])[:, :, 0]


def _population(budget, rng):
    """Search for a round on infinitely many samples that shrinks the distance less."""

    def lhs_rhs(shape, x):
        n, d, k = shape["n"], shape["d"], shape["k"]
        share, W = abs(x[0]), x[1 : 1 + n * k].reshape(n, k)
        raw = x[1 + n * k :].reshape(d, k)
        values = np.linalg.svd(W, compute_uv=False) / np.sqrt(n)
        if not 0.0 < share <= 1.0 or values[0] < 1e-3:
            return None
        singular = np.linalg.svd(raw, compute_uv=False)
        if singular[-1] < 1e-3 * singular[0] or singular[0] < 1e-3:
            return None
        B, truth = orthonormalize(raw), np.eye(d, k)
        eta = share / values[0] ** 2
        S, D = W.T @ W / n, B.T @ truth
        outside = truth - B @ D
        before = distance(B, truth)
        after = distance(B + eta * outside @ S @ D.T, truth)
        smallest = values[-1] if n >= k else 0.0
        return after, population_bound(before, sigma_min=smallest, step_size=eta) * before + 1e-12

    return search(
        lhs_rhs,
        [{"n": 1, "d": 2, "k": 1}, {"n": 2, "d": 4, "k": 2}, {"n": 4, "d": 6, "k": 3}],
        lambda shape: 1 + (shape["n"] + shape["d"]) * shape["k"],
        budget,
        rng,
        name="population: (1 - eta sigma_min^2 (1 - dist^2)) dist",
    )
