"""(13) to (16), and (27): rounds in operator form."""

from itertools import combinations, product

import numpy as np

from linrep.claims import Readings, statement
from linrep.claims.measurements import relative
from linrep.papers.fedrep import model
from linrep.problems.subspace import distance, orthonormalize

#: The readings of the adjoint in (15), of (16), and of the index set of (27).
ADJOINTS = (
    "adjoint a -> sum a_ij A_ij",
    "printed M -> sum <A_ij, M> A_ij, taken as all of A'A",
    "printed, applied to A(M)",
)
FACTORS = ("QR of B-bar^(t+1)", "printed, of B-bar^t")
INDICES = ("p = 1 ... k", "printed, p = 0 ... k - 1")


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
    wrong = (*ADJOINTS[1:], FACTORS[1], INDICES[1])
    found = model.displays(rounds(budget, rng, factor, order), but=wrong)
    adjoints, (factor_of_next, factor_of_this), (from_1, from_0) = (
        [found.pop(name) for name in names] for names in (ADJOINTS, FACTORS, INDICES)
    )
    if display == "(16)":
        yield model.misprinted(factor_of_next, factor_of_this, "Algorithm 2", name=display)
    elif display == "(27)":
        yield model.misprinted(from_1, from_0, "above (21), all p in [k]", name=display)
    else:
        yield from found.values()
        phrase = "the adjoint operator of A^t, i.e."
        yield Readings(adjoints, name="(15)", phrase=phrase)


def rounds(budget, rng, factor, order):
    """Yield how far both sides of each display are apart, round by round."""
    # In the second setting m = d, so that the printed adjoint can be applied to A(M).
    settings = [(5, 9, 12, 2, 5), (5, 8, 8, 3, 2), (6, 12, 10, 4, 4), (4, 6, 7, 1, 1)]
    designs = budget(("gaussian", "uniform"), model.DESIGNS)
    for (n, m, d, k, rn), design in product(settings, designs):
        at = {"n": n, "m": m, "d": d, "k": k, "rn": rn, "design": design}
        truth, B = model.instance(n, d, k, rng, design=design)
        eta = 0.25 / truth.sigma_max() ** 2
        previous, W = B, rng.standard_normal((n, k))
        yield "(13) is (7)", loss_deviation(truth, B, W, m, rn, rng, factor), at
        for _ in range(5):
            chosen = np.sort(rng.permutation(n)[:rn])
            X, y = model.batch_of(truth, m, rng, chosen)
            A, heads = model.sensing(X), model.exact_heads(X, y, B)
            condition = np.linalg.cond(X @ B).max()
            stacked = A @ np.kron(np.eye(rn), B)
            W = np.linalg.lstsq(stacked, y.ravel(), rcond=None)[0].reshape(rn, k)
            yield "(14)", relative(W, heads) / condition, at
            Q = W @ B.T - truth.W[chosen] @ truth.B.T
            values = A @ Q.ravel()
            composed = (A.T @ values).reshape(rn, d)
            rows = np.einsum("ide,ie->id", model.moments(X), Q)
            yield "(41): A*A/m has rows Pi^i q_i", relative(composed / m, rows), at
            # What Algorithm 2 orthonormalizes: the mean of the clients' own steps.
            fits = zip(X, y, heads, strict=True)
            steps = [B - eta * (x.T @ (x @ B @ w - z)[:, None] * w / m) for x, z, w in fits]
            stepped = np.mean(steps, axis=0)
            images = [np.einsum("im,imd->id", values.reshape(rn, m), X)]
            images += [sum(v * row for v, row in zip(values, A, strict=True)).reshape(rn, d)]
            images += [(A.T @ (A @ values)).reshape(rn, d)] if m == d else []
            size = min(1.0, relative(stepped, B))
            for name, S in zip(ADJOINTS, images, strict=False):
                operator = B - factor * eta / (rn * m) * S.T @ W
                yield name, relative(operator, stepped) / condition / size, at
            operator = B - factor * eta / (rn * m) * composed.T @ W
            new = orthonormalize(stepped)
            yield FACTORS[0], distance(operator, new), at
            yield FACTORS[1], distance(previous, new), at
            B, previous = new, stepped
        # The stacked columns, or rows, from which (27) takes elements (p - 1) rn + i.
        heads = truth.W[:rn]
        vector = (heads.T if order == "columns" else heads).ravel()
        taken = vector[np.arange(rn)[:, None] + rn * np.arange(k)]
        worst = max(relative(row, w) for row, w in zip(taken, heads, strict=True))
        yield INDICES[0], worst, at
        yield INDICES[1], np.inf, at  # there is no element -rn + i


def loss_deviation(truth, B, W, m, rn, rng, factor):
    """Return how far (13), the mean over all sets of rn clients, is from (7), on one batch each."""
    X, y = model.batch_of(truth, m, rng)
    clients = [np.mean((z - x @ B @ w) ** 2) / 2.0 for x, z, w in zip(X, y, W, strict=True)]
    values = []
    for chosen in map(list, combinations(range(truth.n), rn)):
        A = model.sensing(X[chosen])
        labels = A @ (truth.W[chosen] @ truth.B.T).ravel()
        residual = labels - A @ (W[chosen] @ B.T).ravel()
        values.append(factor * residual @ residual / (2 * rn * m))
    return relative(np.mean(values), np.mean(clients))


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
