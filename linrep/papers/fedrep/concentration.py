"""What the checks of Lemmas 2 to 4 share: the designs drawn in full, and the constants."""

import numpy as np

from linrep.claims import Constant, Exponent
from linrep.claims.tables import cells, table
from linrep.papers.fedrep.model import OTHERS, covariates, instance, least_squares

CLIENTS = [2, 5, 50, 500]
RANKS = [1, 2, 4, 8]
#: Margin of exponents over many decades, of samples drawn by their law: far below a twentieth.
SHARP = 0.01


def delta(k, rn, m, k_power, m_power):
    """Return delta_k at c = 1."""
    return k**k_power * np.sqrt(np.log(rn)) / m**m_power


def sampled_sides(design, rn, m, k, rng):
    """Draw batches; return min sigma_min(G^i), and ||(GD - C)w*||, ||F||_F over ||W*||_2 dist."""
    truth, B = instance(max(rn, k), 2 * k + 1, k, rng, distance=0.5, design=design)
    truth = truth.with_heads(truth.W[:rn])
    X = covariates(design, (rn, m, truth.d), rng)
    Z = X @ B
    lacking = (X @ (truth.theta - truth.theta @ B @ B.T)[:, :, None])[..., 0]
    cross = np.einsum("ija,ij->ia", Z, lacking) / m
    errors = least_squares(Z, lacking)
    smallest = np.linalg.eigvalsh(np.swapaxes(Z, 1, 2) @ Z)[:, 0].min() / m
    scale = np.linalg.norm(truth.W, 2) * 0.5
    return max(smallest, 0.0), np.linalg.norm(cross) / scale, np.linalg.norm(errors) / scale


def constants(lemma, gaussian, sampled, repeats):
    """Yield the constants that a lemma needs, which have to stay bounded.

    Of Gaussian x settings, what draws a constant, how many, along what, and by what; of the other
    designs batches are drawn in full, `sampled(rn, m, k, design)`, of so many repeats.
    """
    others = []
    for design in OTHERS:
        others += cells({"m": 40, "k": 2, "design": design}, rn=[2, 10, 50])
        others += cells({"m": 40, "rn": 5, "design": design}, k=[1, 2, 4])
    tables = {
        "gaussian x": gaussian,
        "other x": (others, sampled, repeats, ["rn", "k"], ["m", "design"]),
    }
    for name, (settings, draw, runs, along, by) in tables.items():
        rows = table(settings, draw, runs)
        yield Constant(rows, along, by=by, name=name, label=f"c that Lemma {lemma} needs")
    sizes = (100, 700, 4900)
    for design in OTHERS:
        samples = [[sampled(5, m, 1, design) for _ in range(repeats)] for m in sizes]
        yield Exponent(
            sizes, samples, equals=0.0, margin=0.25, along="m", of="c needed",
            name=f"{design} x, large m",
        )  # fmt: skip
