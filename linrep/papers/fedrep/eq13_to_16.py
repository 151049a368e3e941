"""(13) to (16), and (27): rounds in operator form."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from linrep.claims import Identity, proved, statement
from linrep.claims.deviations import readings, relative
from linrep.claims.evidence import PROVED
from linrep.papers.fedrep._common import (
    DESIGNS,
    batch_of,
    by_name,
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
    found = by_name(_rows(budget, rng, factor, order))
    if display == "(13)-(15)":
        for name in ("(13) is (7)", "(14)", "adjoint", "(41): A*A/m has rows Pi^i q_i"):
            yield Identity(found[name], name=name, strength=PROVED)
        item = readings(
            {name: found[name] for name in _ADJOINTS},
            name="(15)",
            phrase="the adjoint operator of A^t, i.e.",
        )
        yield proved(item, but=_ADJOINTS[1:])
        return
    names, place = {
        "(16)": (_FACTORS, "Algorithm 2"),
        "(27)": (list(_INDICES), "above (21), all p in [k]"),
    }[display]
    item = misprinted({name: found[name] for name in names}, place, name=display)
    yield proved(item, but=names[1:])


#: The readings of the adjoint in (15), of (16), and of the index set of (27), by k.
_ADJOINTS = (
    "adjoint a -> sum a_ij A_ij",
    "printed M -> sum <A_ij, M> A_ij, taken as all of A'A",
    "printed, applied to A(M)",
)
_FACTORS = ("QR of B-bar^(t+1)", "printed, of B-bar^t")
_INDICES = {"p = 1 ... k": lambda k: range(1, k + 1), "printed, p = 0 ... k - 1": range}


def _rows(budget, rng, factor, order):
    # In the second setting m = d, so that the printed adjoint can be applied to A(M).
    settings = [(5, 9, 12, 2, 5), (5, 8, 8, 3, 2), (6, 12, 10, 4, 4), (4, 6, 7, 1, 1)]
    for (n, m, d, k, rn), design in product(settings, budget(("gaussian", "uniform"), DESIGNS)):
        where = {"n": n, "m": m, "d": d, "k": k, "rn": rn, "design": design}
        truth, B = instance(n, d, k, rng, design=design)
        eta = 0.25 / truth.sigma_max() ** 2
        previous, W = B, rng.standard_normal((n, k))
        yield "(13) is (7)", _loss_deviation(truth, B, W, m, rn, rng, factor), where
        for _ in range(5):
            chosen = np.sort(rng.permutation(n)[:rn])
            X, y = batch_of(truth, m, rng, chosen)
            A, heads = sensing(X), exact_heads(X, y, B)
            condition = np.linalg.cond(X @ B).max()
            stacked = A @ np.kron(np.eye(rn), B)
            W = np.linalg.lstsq(stacked, y.ravel(), rcond=None)[0].reshape(rn, k)
            yield "(14)", relative(W, heads) / condition, where
            Q = W @ B.T - truth.W[chosen] @ truth.B.T
            a, M = rng.standard_normal(rn * m), rng.standard_normal((rn, d))
            yield "adjoint", relative((A @ M.ravel()) @ a, M.ravel() @ (A.T @ a), 1.0), where
            rows = np.einsum("ide,ie->id", moments(X), Q)
            composed = (A.T @ (A @ Q.ravel())).reshape(rn, d)
            yield "(41): A*A/m has rows Pi^i q_i", relative(composed / m, rows), where
            stepped = _clients_step(X, y, B, heads, eta)
            size = relative(stepped, B)
            for name, S in zip(_ADJOINTS, _adjoints(X, A, Q), strict=False):
                operator = B - factor * eta / (rn * m) * S.T @ W
                yield name, relative(operator, stepped) / condition / min(1.0, size), where
            new = orthonormalize(stepped)
            operator = B - factor * eta / (rn * m) * composed.T @ W
            yield _FACTORS[0], distance(operator, new), where
            yield _FACTORS[1], distance(previous, new), where
            B, previous = new, stepped
        for name, indices in _INDICES.items():
            yield name, _of_indices(truth.W[:rn], order, indices(k)), where


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
    """Yield what each reading of the adjoint in (15) makes of Q; the last one asks for m = d."""
    rn, m, d = X.shape
    values = A @ Q.ravel()
    yield np.einsum("im,imd->id", values.reshape(rn, m), X)
    yield sum(value * row for value, row in zip(values, A, strict=True)).reshape(rn, d)
    if m == d:
        yield (A.T @ (A @ values)).reshape(rn, d)


def _of_indices(W, order, indices):
    """Return how far the vectors of an index set of (27) are from the w_i."""
    rn = len(W)
    stacked = (W.T if order == "columns" else W).ravel()  # below each other
    if min(indices) < 1:
        return np.inf
    places = [[(p - 1) * rn + i for p in indices] for i in range(rn)]
    return max(relative(stacked[row], w) for row, w in zip(places, W, strict=True))
