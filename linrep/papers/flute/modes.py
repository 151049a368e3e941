"""Equation (13) near its fixed points: which deviations die, and how fast."""

from itertools import combinations

import numpy as np

from linrep.claims import statement
from linrep.claims.measurements import identities
from linrep.papers.flute.model import POPULATION, spectra
from linrep.problems.subspace import random_frame
from linrep.theory.flute_lift import iterate


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


@statement(
    "flute.local_rate",
    own=True,
    place="implied by (13)",
    latex=r"\Theta_{\mathrm{res}}: 1 - \tfrac\eta2(\lambda^*_j - \lambda^*_i), \qquad"
    r" D = \Theta_k\Theta_k^\top - \tilde\Lambda_k: 1 - \tfrac\eta2(\lambda^*_i + \lambda^*_j),"
    r" \qquad \text{slowest: } 1 - \tfrac\eta2\Delta",
    plain="Near the optimum the slowest deviation, turned columns aside, shrinks by "
    "1 - eta Delta/2 per step.",
    hypotheses=POPULATION,
    negative_control={"share": 0.49},
    stronger={"share": 0},
)
def local_rate(budget, rng, *, share=0.5):
    """Compare spectra of the derivative at all fixed points."""
    names = "spectrum at the optimum", "spectra at other fixed points", "slowest but for turning"
    found: dict[str, list] = {name: [] for name in names}
    several = ("even", "gap", "flat", "third 1")
    for setting, spectrum in spectra((1, 2, 3)[: budget(2, 3)], names=several):
        k, eigenvalues = spectrum.k, spectrum.eigenvalues
        eta = rng.uniform(0.02, 1.0) / (6.0 * eigenvalues[0])
        rows = range(int(np.sum(eigenvalues > 0.0)))
        for chosen in (*combinations(rows, k), *combinations(rows, k - 1)):
            Theta = fixed_point(eigenvalues, chosen, k, rng)
            modes = np.sort_complex(np.linalg.eigvals(jacobian(Theta, eigenvalues, eta)))
            expected = predicted(eigenvalues, chosen, k, eta, share)
            # Modes differ from 1 by multiples of eta lambda*_1.
            error = np.abs(modes - expected).max() / (eta * eigenvalues[0])
            name = names[0] if chosen == tuple(range(k)) else names[1]
            found[name].append((error, {**setting, "rows": list(chosen)}))
            if name == names[0]:  # k(k - 1)/2 modes turn the columns: 1
                slowest = modes.real[-1 - k * (k - 1) // 2]
                apart = abs(slowest - 1.0 + share * eta * spectrum.gap) / (eta * eigenvalues[0])
                found[names[2]].append((apart, {**setting, "eta": eta}))
    yield from identities(found, 1e-6)
