"""Equation (13) near its fixed points: which deviations die, and how fast."""

from itertools import combinations, product

import numpy as np
import pandas as pd

from linrep.claims import Curve, Fact, Identity, statement
from linrep.papers.flute.lifted import SHAPES
from linrep.papers.flute.model import POPULATION, Spectrum
from linrep.problems.subspace import random_frame
from linrep.theory.flute_lift import iterate, local_factors

KIT = ((1.0, 0.9, 0.7, 0.1), (1.0, 0.9, 0.3, 0.1), (1.0, 0.9, 0.85, 0.8), (4.0, 3.0, 1.5, 0.2, 0.1))


def problems(budget):
    """Yield singular values, a shape, and the spectrum for a rank."""
    for values, shape, k in product(KIT, SHAPES, (1, 2, 3)[: budget(2, 3)]):
        size = len(values)
        n, d = {"d < n": (size + 1, size), "d = n": (size, size), "d > n": (size, size + 2)}[shape]
        yield values, shape, Spectrum(np.array(values), n=n, d=d, k=k)


def fixed_point(eigenvalues, chosen, k, rng):
    """Return Theta with the chosen rows of Lambda^(1/2), other columns 0, columns rotated."""
    Theta = np.zeros((eigenvalues.size, k))
    for column, row in enumerate(chosen):
        Theta[row, column] = np.sqrt(eigenvalues[row])
    return Theta @ random_frame(k, k, rng)


def predicted(eigenvalues, chosen, k, eta, share):
    """Return the factors of all modes at the fixed point of the chosen rows, in order.

    Row i outside, column j: 1 + share eta (l_i - l_j). Symmetric part of the chosen block: 1 -
    share eta (l_i + l_j); its antisymmetric part turns the columns: 1. A column that is 0 grows by
    1 + share eta l_i in a row outside, and turns into the others, 1, in a chosen one.
    """
    inside = eigenvalues[list(chosen)]
    outside = np.delete(eigenvalues, list(chosen))
    size, empty = inside.size, k - inside.size
    return np.sort(np.concatenate([
        (1.0 + share * eta * (outside[:, None] - inside)).ravel(),
        1.0 - share * eta * (inside[:, None] + inside)[np.triu_indices(size)],
        np.ones(size * (size - 1) // 2 + size * empty),
        np.repeat(1.0 + share * eta * outside, empty),
    ]))  # fmt: skip


def jacobian(Theta, eigenvalues, eta):
    """Return the matrix of the map's derivative at Theta, by central differences."""
    step = 1e-5 * np.sqrt(eigenvalues[0])
    moves = step * np.eye(Theta.size).reshape(-1, *Theta.shape)
    ends = [iterate(Theta + sign * moves, eigenvalues, eta, [1]).Theta[:, 0] for sign in (1, -1)]
    return ((ends[0] - ends[1]) / (2.0 * step)).reshape(Theta.size, Theta.size).T


def spectra_found(budget, rng, share):
    """Yield, for each fixed point, how far the spectrum found is from the predicted one."""
    for values, shape, spectrum in problems(budget):
        k, eigenvalues = spectrum.k, spectrum.eigenvalues
        eta = rng.uniform(0.02, 1.0) / (6.0 * eigenvalues[0])
        rows = range(int(np.sum(eigenvalues > 0.0)))
        for chosen in (*combinations(rows, k), *combinations(rows, k - 1)):
            Theta = fixed_point(eigenvalues, chosen, k, rng)
            found = np.sort_complex(np.linalg.eigvals(jacobian(Theta, eigenvalues, eta)))
            expected = predicted(eigenvalues, chosen, k, eta, share)
            # Modes differ from 1 by multiples of eta lambda*_1.
            error = np.abs(found - expected).max() / (eta * eigenvalues[0])
            where = {"singular values": list(values), "shape": shape, "k": k, "rows": list(chosen)}
            grows = bool(found.real.max() > 1.0 + 1e-9)
            yield error, where, chosen == tuple(range(k)), grows


def rest_modes(spectrum, eta, rng):
    """Yield -log of the factor per step, found and expected, of each entry of Theta_res.

    From a small random start, from where all of it is small; columns are turned to where it ends.
    """
    k = spectrum.k
    factors = local_factors(spectrum, eta).rest
    start = 1e-3 * np.sqrt(spectrum.first) * rng.standard_normal((2 * spectrum.size, k))
    steps = int(np.ceil(40.0 / (0.5 * eta * spectrum.gap)))
    record = np.unique(np.linspace(0, steps, 2000).astype(int))
    Theta = iterate(start, spectrum.eigenvalues, eta, record).Theta
    left, _, right = np.linalg.svd(Theta[-1, :k])
    modes = np.abs(Theta[:, k:] @ right.T @ left.T) / np.sqrt(spectrum.first)
    whole = np.linalg.norm(modes, axis=(1, 2))
    small = np.flatnonzero(whole < 1e-6)  # from where products of modes do not matter
    for place in np.ndindex(factors.shape):
        mode = modes[:, *place]
        held = small[mode[small] > 1e-15]
        if held.size >= 5 and mode[held[0]] / mode[held[-1]] > 10.0:
            span = record[held[-1]] - record[held[0]]
            yield np.log(mode[held[0]] / mode[held[-1]]) / span, -np.log(factors[place])


def leading_modes(spectrum, eta, rng):
    """Yield the same of each entry of D, after a push that moves all of them equally.

    In runs from far the square of the rest drives them.
    """
    k = spectrum.k
    factors = local_factors(spectrum, eta).leading
    Theta = fixed_point(spectrum.eigenvalues, range(k), k, rng)
    root = np.sqrt(spectrum.eigenvalues[:k])
    turn = Theta[:k] / root[:, None]
    signs = np.triu(rng.choice([-1.0, 1.0], (k, k)))
    signs += np.triu(signs, 1).T
    # To first order D is 1e-7 times these signs.
    Theta[:k] += 0.5e-7 * spectrum.first * signs / root @ turn
    steps = int(np.ceil(3.0 / -np.log(factors.min())))
    ends = iterate(Theta, spectrum.eigenvalues, eta, [0, steps]).Theta[:, :k]
    D = np.abs(ends @ ends.swapaxes(1, 2) - np.diag(spectrum.eigenvalues[:k]))
    for place in zip(*np.triu_indices(k), strict=True):
        yield np.log(D[0][place] / D[1][place]) / steps, -np.log(factors[place])


@statement(
    "flute.local_rate",
    own=True,
    place="implied by (13)",
    latex=r"\Theta_{\mathrm{res}}: 1 - \tfrac\eta2(\lambda^*_j - \lambda^*_i), \qquad"
    r" D = \Theta_k\Theta_k^\top - \tilde\Lambda_k: 1 - \tfrac\eta2(\lambda^*_i + \lambda^*_j),"
    r" \qquad \text{slowest: } 1 - \tfrac\eta2\Delta",
    plain="Near the optimum the slowest deviation shrinks by 1 - eta Delta/2 per step.",
    hypotheses=POPULATION,
    negative_control={"share": 0.49},
    stronger={"share": 0},
)
def local_rate(budget, rng, *, share=0.5):
    """Compare spectra of the derivative at all fixed points, and late decays of each mode."""
    found = list(spectra_found(budget, rng, share))
    for name, which in (
        ("spectrum at the optimum", True),
        ("spectra at other fixed points", False),
    ):
        yield Identity([each[:2] for each in found if each[2] == which], 1e-6, name=name)
    rows = []
    for values, shape, spectrum in problems(budget):
        eta, series = 1.0 / (6.0 * spectrum.first), f"lambda = {values}, {shape}, k = {spectrum.k}"
        for _ in range(budget(1, 5, 20)):
            for panel, modes in (("rest", rest_modes), ("leading", leading_modes)):
                rows += [(panel, series, *pair) for pair in modes(spectrum, eta, rng)]
    table = pd.DataFrame(rows, columns=["panel", "run", "y", "x"])
    table["x"] = -np.log1p(2.0 * share * np.expm1(-table["x"]))
    for panel, group in table.groupby("panel"):
        errors = np.abs(group["y"] / group["x"] - 1.0)
        cases = [
            (error, {"run": run, "found": y})
            for error, run, y in zip(errors, group["run"], group["y"], strict=True)
        ]
        yield Identity(cases, 1e-3, name=f"late decay, {panel}")
    yield Curve(table[["panel", "x", "y"]].sort_values("x").assign(
        predicted=lambda points: points["x"], series="", xlabel="-log factor, predicted",
        ylabel="-log factor, found",
    ))  # fmt: skip
    attracting = sum(not grows for *_, best, grows in found if not best)
    yield Fact("fixed points besides the optimum that attract", attracting)
