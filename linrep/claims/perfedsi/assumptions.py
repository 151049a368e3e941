"""Assumption 3.2 and Definition C.3: side information's scaling, and incoherence."""

from __future__ import annotations

import numpy as np
import pandas as pd

from linrep.claims import (
    LEVEL,
    Evidence,
    bounded_constant,
    claim,
    combine,
    identity,
    inequality,
)
from linrep.claims._parts import at_most, readings, relative, shown, table
from linrep.claims.perfedsi._instances import SHAPES, length, needed, unpack
from linrep.claims.perfedsi._rounds import Runs, play, start
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

# Clients per dimension of the side information, at (M, k) = (20, 4) and at (1000, 32).
_FEW, _MANY = 5, 31.25
_SIZES = (4, 8, 16, 32)


def _scaled(side, n, p, power, rng):
    """Return side information of a design, rows normalized to norm p^power where it says so."""
    if side == "one-hot":
        return np.eye(n) * float(p) ** power
    Z = SideInformationCompletion.random(n=n, d=1, p=p, k=1, side=side, rng=rng).Z
    return Z * float(p) ** power if side == "unit" else Z


def _constants(side, budget, rng, power) -> pd.DataFrame:
    """Return a row per draw: c_z and mu_z over k at fixed M/k."""
    settings = [
        {"M": round(ratio * p), "k": p, "ratio": ratio}
        for ratio in ((1.0,) if side == "one-hot" else (_FEW, _MANY))
        for p in _SIZES
    ]
    draws = budget(20, 1000 if side == "gaussian" else 100)
    return pd.DataFrame(
        [
            setting
            | theory.scaling(_scaled(side, setting["M"], setting["k"], power, rng))._asdict()
            for setting in settings
            for _ in range(2 if side == "one-hot" else draws)
        ]
    ).round(9)


def _trace_argument(budget, rng, power):
    """Yield k^(1 - 2 power) <= c_z for rows of norm k^power, whatever else they are.

    The eigenvalues of Z'Z/M have mean k^(2 power)/k, so that the least is at most that.
    """
    for _ in range(budget(100, 1000)):
        p = int(rng.integers(1, 12))
        n = int(rng.integers(p, 6 * p + 2))
        Z = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-2.0, 2.0, p)
        Z *= float(p) ** power / np.linalg.norm(Z, axis=1, keepdims=True)
        found = theory.scaling(Z).c_z
        bound = float(p) ** (1.0 - 2.0 * power)
        yield min(bound, found) if np.isinf(found) else bound * (1.0 - 1e-12), found, {
            "M": n, "k": p,
        }  # fmt: skip


def _logarithm(budget, rng):
    """Return how Gaussian mu_z goes with log M at k = 4: the constant of 1 + log(M)/k."""

    def draw(M, k):
        found = theory.scaling(_scaled("gaussian", M, k, 0.0, rng)).mu_z
        return found / (1.0 + np.log(M) / k)

    settings = [{"M": M, "k": 4} for M in (20, 100, 500, 1000)]
    return table(settings, draw, budget(60, 400))


def _ends_of(found):
    """Return the least and the largest (M, k) of a table."""
    pairs = sorted({(int(M), int(p)) for M, p in zip(found["M"], found["k"], strict=True)})
    return pairs[0], pairs[-1]


@claim(
    "perfedsi.assumption3.2",
    place="Assumption 3.2; Appendix C.1; Appendix C.4",
    kind="specification",
    latex=r"\frac M{c_z}I \preceq Z^\top Z \preceq c_z M I,\quad \max_m\|z_m\|^2 \le \mu_z k:"
    r"\ c_z, \mu_z \text{ constants for } z_m \sim N(0, I) \text{ and for } \|z_m\| = 1",
    plain="The scaling constants of side information do not grow with its dimension.",
    broken={"power": 0.75},
    mended={"power": 0.5},
)
def assumption3_2(budget, rng, *, power=0.0) -> Evidence:
    """Find the least constants of every design; Appendix C.4 has rows of norm k^power, power 0."""
    level = LEVEL / 9
    parts, told = [], []
    for side in ("gaussian", "unit", "isometric", "one-hot"):
        found = _constants(side, budget, rng, power)
        by = ("ratio",)
        for constant in ("c_z", "mu_z"):
            parts.append(
                bounded_constant(
                    found, ["k"], constant, by=by, level=level, rng=rng,
                    name=f"{side}, {constant} in k", label=constant,
                )
            )  # fmt: skip
        ends = [found[(found["M"] == M) & (found["k"] == p)] for M, p in _ends_of(found)]
        told.append(
            f"{side}: "
            + ", ".join(
                f"c_z {end['c_z'].quantile(0.95):.3g} and mu_z {end['mu_z'].quantile(0.95):.3g} at "
                f"({end['M'].iloc[0]}, {end['k'].iloc[0]})"
                for end in ends
            )
        )
    parts += [
        at_most(_trace_argument(budget, rng, power), name="c_z of rows of one norm"),
        bounded_constant(
            _logarithm(budget, rng), ["M"], by=("k",), level=level, rng=rng,
            name="gaussian, mu_z over 1 + log(M)/k", label="mu_z/(1 + log(M)/k)",
        ),
    ]  # fmt: skip
    return combine(
        parts,
        f"{combine(parts).sentence}. 95 % quantiles at (M, k): {'; '.join(told)}. Rows of norm 1 "
        "have tr Z'Z = M, so that c_z >= k; rows of norm sqrt(k) fit the assumption. Gaussian mu_z "
        "grows like 1 + log(M)/k at fixed k",
    )


# Definition C.3


def _ends(budget, rng):
    """Return evidence that mu lies between 1/r and d/r for all matrices, 1 at least for frames."""
    shapes = [{"d": 2, "r": 1}, {"d": 3, "r": 2}]

    def search(name, sides):
        def of_matrix(shape, x):
            A = x.reshape(shape["d"], shape["r"])
            if np.linalg.matrix_rank(A) < shape["r"]:
                return None
            return sides(A, shape["r"])

        return inequality(
            of_matrix, shapes, lambda shape: shape["d"] * shape["r"], budget, rng, name=name
        )

    return [
        search("mu >= 1/r", lambda A, r: (1.0 / r, theory.incoherence(A))),
        search("mu <= d/r", lambda A, r: (theory.incoherence(A), len(A) / r)),
        search("mu >= 1, frames", lambda A, r: (1.0, theory.incoherence(np.linalg.qr(A)[0]))),
    ]


def _attained():
    """Yield deviations of mu from the ends at matrices that have them."""
    for d, r in ((4, 1), (8, 2), (64, 4)):
        flat = np.ones((d, 1)) @ np.eye(1, r)
        for A, mu in ((flat, 1.0 / r), (np.eye(d, r), d / r), (np.tile(np.eye(r), (d // r, 1)), 1)):
            yield abs(theory.incoherence(A) / mu - 1.0), {"d": d, "r": r, "mu": mu}


def _rows():
    """Return deviations of Definition 3.1's bound on rows of U from that of (35), mu = mu_U."""
    found: dict[str, list] = {"tau as printed": [], "r": []}
    for tau in (1, 2, 5, 20):
        for r in (1, 2, 5):
            for mu, d in ((1.0, 4), (8.0, 64)):
                instance = {"tau": tau, "r": r, "mu": mu, "d": d}
                for name, factor in zip(found, (tau, r), strict=True):
                    found[name].append((relative(mu * factor / d, mu * r / d), instance))
    return found


def _entailed(budget, rng, power):
    """Return evidence that Definition 3.1 makes U and E incoherent, with other constants."""

    def of_U(shape, x):
        instance = unpack(shape, x)
        if instance is None:
            return None
        found, share = needed(*instance)
        if share >= 0.9999:  # 1 - sqrt(share) would be rounding
            return None
        floor = theory.norm_floor(found.norms, share)
        return theory.incoherence(instance[1]), found.rows / floor**power

    def of_E(shape, x):
        instance = unpack(shape, x)
        if instance is None:
            return None
        truth, U, V = instance
        E = U @ V.T - truth.M
        if np.linalg.norm(E) < 1e-6 * np.linalg.norm(truth.M):
            return None
        c_z = theory.scaling(truth.Z).c_z
        return theory.incoherence(E), c_z**power * needed(*instance)[0].errors

    return [
        inequality(sides, budget(SHAPES[:2], SHAPES[1:]), length, budget, rng, name=name)
        for name, sides in (("U has mu over floor^2", of_U), ("E has c_z^2 mu", of_E))
    ]


def _unequal():
    """Return how far mu of C.3 can be from that of Definition 3.1 at the truth: c^2, both ways."""
    star_U, star_V = np.tile(np.eye(2), (4, 1)) / 2.0, np.eye(2)
    truth = SideInformationCompletion(star_U, star_V, np.eye(2) * np.sqrt(2.0))
    ratios = []
    for c in (1.0, 2.0, 6.0, 1.0 / 6.0):
        U, V = star_U / c, star_V * c
        ratios.append(theory.incoherence(U) / needed(truth, U, V)[0].rows)
    return ratios


def _along_runs(budget, rng):
    """Return mu needed by U_t and E_t z_m over their largest values, d/r and d, and told."""
    told, shares = [], []
    for side, step_size in (("unit", 0.3), ("gaussian", 0.05)):
        for d in budget((16, 64), (16, 32, 64)):
            for kind in ("near", "random"):
                truths = [
                    SideInformationCompletion.random(n=20, d=d, p=4, k=2, side=side, rng=rng)
                    for _ in range(budget(5, 10))
                ]
                runs = Runs.of(truths, [start(kind, truth, rng) for truth in truths])
                _, needs = play(
                    runs, rng, rounds=budget(20, 150), step_size=step_size, participants=4,
                    local_steps=5,
                )  # fmt: skip
                rows, errors = (part[:, 0].max(axis=0) for part in (needs.rows, needs.errors))
                shares.append(float(np.max(errors)) / d)
                told.append(
                    f"{np.median(rows):.2g} and {np.median(errors):.2g} (d = {d}, {side}, {kind})"
                )
    return shares, told


@claim(
    "perfedsi.definitionC3",
    place="Definition C.3, (14); Definition 3.1; (35)",
    kind="specification",
    latex=r"\|e_i^\top A\| \le \sqrt{\mu r/d}\,\|A\|_2; \quad \mathcal A_{t,s} \Rightarrow"
    r" U, E \text{ incoherent}",
    plain="The regularity event makes U and the error incoherent, with mu between 1/r and d/r.",
    broken={"power": 1.0},
)
def definitionC3(budget, rng, *, power=2.0) -> Evidence:
    """Find the range of mu, what the event's conditions entail, and what runs need.

    The power is that of c and of c_z by which the two definitions' mu differ.
    """
    shares, told = _along_runs(budget, rng)
    ratios = _unequal()
    parts = [
        *_ends(budget, rng),
        identity(_attained(), 1e-12, name="both ends attained"),
        readings(_rows(), 0.0, name="Definition 3.1's tau against (35)"),
        *_entailed(budget, rng, power),
        shown(
            max(shares) < 1.0, f"mu of E_t z_m is up to {max(shares):.2f} d along runs",
            measured=max(shares), predicted=1.0, n_trials=len(shares), name="along runs",
            counterexample={"mu/d": max(shares)},
        ),
    ]  # fmt: skip
    return combine(
        parts,
        f"{combine(parts).sentence}. mu of all matrices runs from 1/r to d/r, of frames from 1. "
        f"Rows of U bounded with {parts[4].sentence}. With the same mu neither definition entails "
        f"the other: mu of C.3 over that of 3.1 is {min(ratios):.3g} to {max(ratios):.3g} at"
        " U = U*/c, V = c V*, c from 1/6 to 6; with (1 - sqrt(2 c_z c c_0))^-2 c^2 mu for U and"
        f" c_z^2 mu for E 3.1 does. Medians needed along runs by U_t and E_t z_m: {', '.join(told)}"
        f"; the largest possible for E_t z_m is d, and the most seen is {max(shares):.2f} d",
    )
