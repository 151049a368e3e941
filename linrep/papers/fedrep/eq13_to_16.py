"""(13) to (16), and (27): rounds in operator form."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from linrep.claims import Readings, proved, statement
from linrep.claims.deviations import identities, relative
from linrep.papers.fedrep._common import (
    DESIGNS,
    batch_of,
    exact_heads,
    instance,
    misprinted,
    moments,
    sensing,
)
from linrep.problems.subspace import distance, orthonormalize


@statement(
    "fedrep.eq13_16",
    place="Appendix B.1, (7), (13)-(15); (41)",
    latex=r"F = \tfrac{1}{2rnm}\mathbb E\|Y - \mathcal A(W_{\mathcal I}B^\top)\|_2^2, \quad"
    r"\bar B^{t+1} = \hat B^t - \tfrac{\eta}{rnm}\big(\mathcal A^\dagger\mathcal A"
    r"(W^{t+1}\hat B^{t\top} - W^*\hat B^{*\top})\big)^\top W^{t+1}, \quad"
    r"\hat B^{t+1}, R^{t+1} = \mathrm{QR}(\bar B^{t+1})",
    plain="A round of Algorithm 2 is one of alternating minimization and descent in matrix "
    "sensing.",
    stronger={"factor": 0},
    negative_control={"factor": 1.1},
)
def eq13_16(budget, rng, *, factor=1.0, display="(13)-(15)", order="columns"):
    """Compare Algorithm 2, client by client, with the operator form, or with one display of it."""
    names = ("(13) is (7)", "(14)", "adjoint", "(41): A*A/m has rows Pi^i q_i")
    plain: dict[str, list] = {name: [] for name in names}
    step: dict[str, list] = {
        "adjoint a -> sum a_ij A_ij": [],
        "printed M -> sum <A_ij, M> A_ij, taken as all of A'A": [],
        "printed, applied to A(M)": [],
    }
    index: dict[str, list] = {"QR of B-bar^(t+1)": [], "printed, of B-bar^t": []}
    places: dict[str, list] = {"p = 1 ... k": [], "printed, p = 0 ... k - 1": []}
    # In the second setting m = d, so that the printed adjoint can be applied to A(M).
    settings = [(5, 9, 12, 2, 5), (5, 8, 8, 3, 2), (6, 12, 10, 4, 4), (4, 6, 7, 1, 1)]
    for n, m, d, k, rn in settings:
        for design in budget(("gaussian", "uniform"), DESIGNS):
            where = {"n": n, "m": m, "d": d, "k": k, "rn": rn, "design": design}
            truth, B = instance(n, d, k, rng, design=design)
            eta = 0.25 / truth.sigma_max() ** 2
            previous = B
            W = rng.standard_normal((n, k))
            plain["(13) is (7)"].append((_loss_deviation(truth, B, W, m, rn, rng, factor), where))
            for _ in range(5):
                chosen = np.sort(rng.permutation(n)[:rn])
                X, y = batch_of(truth, m, rng, chosen)
                A, heads = sensing(X), exact_heads(X, y, B)
                condition = np.linalg.cond(X @ B).max()
                stacked = A @ np.kron(np.eye(rn), B)
                W = np.linalg.lstsq(stacked, y.ravel(), rcond=None)[0].reshape(rn, k)
                plain["(14)"].append((relative(W, heads) / condition, where))
                Q = W @ B.T - truth.W[chosen] @ truth.B.T
                a, M = rng.standard_normal(rn * m), rng.standard_normal((rn, d))
                pair = (A @ M.ravel()) @ a, M.ravel() @ (A.T @ a)
                plain["adjoint"].append((relative(*pair, 1.0), where))
                rows = np.einsum("ide,ie->id", moments(X), Q)
                composed = (A.T @ (A @ Q.ravel())).reshape(rn, d)
                plain["(41): A*A/m has rows Pi^i q_i"].append((relative(composed / m, rows), where))
                stepped = _clients_step(X, y, B, heads, eta)
                size = relative(stepped, B)
                for reading, S in _adjoints(X, A, Q):
                    operator = B - factor * eta / (rn * m) * S.T @ W
                    error = relative(operator, stepped) / condition / min(1.0, size)
                    step[reading].append((error, where))
                new = orthonormalize(stepped)
                operator = B - factor * eta / (rn * m) * composed.T @ W
                index["QR of B-bar^(t+1)"].append((distance(operator, new), where))
                index["printed, of B-bar^t"].append((distance(previous, new), where))
                B, previous = new, stepped
            for reading, error in _index_sets(truth.W[:rn], order):
                places[reading].append((error, where))
    found = {
        "(13)-(15)": [
            *identities(plain),
            Readings(identities(step), name="(15)", phrase="the adjoint operator of A^t, i.e."),
        ],
        "(16)": [misprinted(index, "Algorithm 2", name="(16)")],
        "(27)": [misprinted(places, "above (21), all p in [k]", name="(27)")],
    }[display]
    others = [*list(step)[1:], *list(index)[1:], *list(places)[1:]]
    yield from (proved(item, but=others) for item in found)


eq16 = statement(
    "fedrep.eq16",
    place="Appendix B.1, (16)",
    latex=r"\hat B^{t+1}, R^{t+1} = \mathrm{QR}(\bar B^t)",
    plain="The next representation is the QR factor of the matrix of the round before.",
    constants={"display": "(16)"},
    negative_control={"factor": 1.1},
)(eq13_16)


eq27 = statement(
    "fedrep.eq27",
    place="below (26), (27)",
    latex=r"w_i^* = (w^*_{(p-1)rn + i})_{p = 0, \dots, k - 1}",
    plain="Row i of W* is made of the elements (p - 1) rn + i of its stacked columns, p = 0 to k - "
    "1.",
    constants={"display": "(27)"},
    negative_control={"order": "rows"},
)(eq13_16)


def _clients_step(X, y, B, heads, eta):
    """Return what Algorithm 2 orthonormalizes: the mean of the clients' own steps."""
    m = X.shape[1]
    gradients = [
        x.T @ (x @ B @ w - z)[:, None] * w / m for x, z, w in zip(X, y, heads, strict=True)
    ]
    return np.mean([B - eta * gradient for gradient in gradients], axis=0)


def _loss_deviation(truth, B, W, m, rn, rng, factor):
    """Return how far (13), the mean over all sets of rn clients, is from (7), on one batch each."""
    X, y = batch_of(truth, m, rng)
    clients = [np.mean((z - x @ B @ w) ** 2) / 2.0 for x, z, w in zip(X, y, W, strict=True)]
    values = []
    for subset in combinations(range(truth.n), rn):
        chosen = list(subset)
        A = sensing(X[chosen])
        labels = A @ (truth.W[chosen] @ truth.B.T).ravel()
        residual = labels - A @ (W[chosen] @ B.T).ravel()
        values.append(factor * residual @ residual / (2 * rn * m))
    return relative(np.mean(values), np.mean(clients))


def _adjoints(X, A, Q):
    """Yield each reading of the adjoint in (15) with what it makes of Q."""
    rn, m, d = X.shape
    values = A @ Q.ravel()
    yield "adjoint a -> sum a_ij A_ij", np.einsum("im,imd->id", values.reshape(rn, m), X)
    total = sum(value * row for value, row in zip(values, A, strict=True))
    yield "printed M -> sum <A_ij, M> A_ij, taken as all of A'A", total.reshape(rn, d)
    if m == d:
        yield "printed, applied to A(M)", (A.T @ (A @ values)).reshape(rn, d)


def _index_sets(W, order):
    """Yield each reading of the index set of (27) and how far its vector is from w_i."""
    rn, k = W.shape
    stacked = (W.T if order == "columns" else W).ravel()  # below each other
    sets = {
        "p = 1 ... k": range(1, k + 1),
        "printed, p = 0 ... k - 1": range(k),
    }
    for reading, indices in sets.items():
        errors = []
        for i in range(1, rn + 1):
            places = [(p - 1) * rn + i - 1 for p in indices]
            outside = min(places) < 0
            errors.append(np.inf if outside else relative(stacked[places], W[i - 1]))
        yield reading, max(errors)
