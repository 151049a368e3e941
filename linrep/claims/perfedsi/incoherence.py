"""Definition C.3: incoherence, its range, and what Definition 3.1 says about it."""

from __future__ import annotations

from dataclasses import replace

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
from linrep.claims._parts import at_most, best_reading
from linrep.claims.perfedsi._instances import (
    MU,
    SHAPES,
    C,
    length,
    needed,
    unpack,
    vanishing_runs,
)
from linrep.claims.perfedsi._rounds import Runs, play, start
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory


def _ends(budget, rng, highest):
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
        search("mu <= d/r", lambda A, r: (theory.incoherence(A), highest * len(A) / r)),
        search("mu >= 1, frames", lambda A, r: (1.0, theory.incoherence(np.linalg.qr(A)[0]))),
    ]


def _attained():
    """Yield deviations of mu from the ends at matrices that have them."""
    for d, r in ((4, 1), (8, 2), (64, 4)):
        flat = np.ones((d, 1)) @ np.eye(1, r)
        for A, mu in ((flat, 1.0 / r), (np.eye(d, r), d / r), (np.tile(np.eye(r), (d // r, 1)), 1)):
            yield abs(theory.incoherence(A) / mu - 1.0), {"d": d, "r": r, "mu": mu}


def _rows(rng) -> Evidence:
    """Decide for which reading of Definition 3.1's bound on rows of U (35) follows with that mu.

    (35) bounds the mean over items of ||U'e_i||^2 (e_i'E z)^2.
    """
    cases: dict[str, list] = {"tau as printed": [], "r": []}
    for tau in (1, 2, 5, 20):
        for d, k in ((4, 1), (16, 2), (64, 5)):
            for flat in (False, True):
                truth = SideInformationCompletion.random(n=20, d=d, p=5, k=k, rng=rng)
                U, V = rng.standard_normal((d, k)), rng.standard_normal((5, k))
                if flat:
                    U /= np.linalg.norm(U, axis=1, keepdims=True)
                top = truth.singular_values[0]
                squares = np.sum(U**2, axis=1)
                errors = (U @ V.T - truth.M) @ truth.Z.T
                left = np.mean(squares[:, None] * errors**2, axis=0)
                for name, factor in zip(cases, (tau, k), strict=True):
                    mu = squares.max() * d / (factor * top)
                    right = mu * k * top / d**2 * np.sum(errors**2, axis=0)
                    worst = float(np.max(left / right)) * (1.0 - 1e-12)
                    cases[name].append((worst, 1.0, {"tau": tau, "r": k, "d": d, "mu": mu}))
    found = [at_most(given, name=f"rows of U bounded with {name}") for name, given in cases.items()]
    return replace(best_reading(found), name="(35) from Definition 3.1")


def _bounded(c_0, rng) -> Evidence:
    """Decide whether one event makes U incoherent, with its mu or with another for all d."""
    rows = [
        {
            "size": size, "d": d, "U_0": iterates[0][0],
            "constant": min(theory.incoherence(U) for U, _ in iterates),
        }
        for d, size, iterates in vanishing_runs(c_0)
    ]  # fmt: skip
    found = pd.DataFrame(rows).drop(columns="U_0")
    name = f"U, at c = {C}, mu = {MU}, c_0 = {c_0:g}"
    cases = [
        (row["constant"], MU, {"c": C, "c_0": c_0, "d": row["d"], "U": row["U_0"].tolist()})
        for row in rows
    ]
    other = bounded_constant(
        found, ["d"], by=("size",), level=LEVEL, rng=rng, name="with a mu for all d",
        label="mu of C.3",
    )  # fmt: skip
    return replace(best_reading([at_most(cases, name="with the same mu"), other]), name=name)


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
    """Tell C.3's mu of U_t over d/r, and what E_t z_m needs over d, along runs: medians, largest.

    E_t z_m is what all local iterates of the round need.
    """
    told, most = [], []
    for side, step_size in (("unit", 0.3), ("gaussian", 0.05)):
        for d in budget((16, 64), (16, 32, 64)):
            for kind in ("near", "random"):
                truths = [
                    SideInformationCompletion.random(n=20, d=d, p=4, k=2, side=side, rng=rng)
                    for _ in range(budget(5, 10))
                ]
                runs = Runs.of(truths, [start(kind, truth, rng) for truth in truths])
                in_U, in_E = [], []
                for _ in range(budget(20, 150)):
                    in_U.append([theory.incoherence(U) / (d / 2) for U in runs.U])
                    runs, needs = play(
                        runs, rng, rounds=1, step_size=step_size, participants=4, local_steps=5
                    )
                    in_E.append(needs.errors[0].max(axis=0) / d)
                shares = [np.max(column, axis=0) for column in (in_U, in_E)]
                most.append([float(share.max()) for share in shares])
                told.append(
                    "{:.2g} and {:.2g}".format(*map(np.median, shares))
                    + f" (d = {d}, {side}, {kind})"
                )
    return np.max(most, axis=0), told


@claim(
    "perfedsi.definitionC3",
    place="Definition C.3, (14); Definition 3.1; (35)",
    kind="specification",
    latex=r"\|e_i^\top A\| \le \sqrt{\mu r/d}\,\|A\|_2; \quad \mathcal A_{t,s} \Rightarrow"
    r" U, E \text{ incoherent}",
    plain="The regularity event makes U incoherent, whose mu lies between 1/r and d/r.",
    broken={"highest": 0.5},
    mended={"c_0": 0.4},
)
def definitionC3(budget, rng, *, c_0=0.5, highest=1.0) -> Evidence:
    """Find the range of mu, what (35) follows from, and whether the event makes U incoherent.

    The definition leaves c_0 open; where 2 c_z c c_0 < 1 it does. Highest is over d/r.
    """
    most, told = _along_runs(budget, rng)
    parts = [
        *_ends(budget, rng, highest),
        identity(_attained(), 1e-12, name="both ends attained"),
        _rows(rng),
        _bounded(c_0, rng),
    ]
    return combine(
        parts,
        f"{parts[5].name}: {parts[5].sentence}. mu of all matrices runs from 1/r to d/r, of frames "
        f"from 1. (35): {parts[4].sentence}. Medians along runs of U_t's mu over d/r and of what "
        f"E_t z_m needs over d: {', '.join(told)}; most {most[0]:.2f} and {most[1]:.2f}",
    )


@claim(
    "perfedsi.definitionC3.corrected",
    place="Definition C.3, (14); Definition 3.1",
    kind="specification",
    latex=r"s = 2c_zcc_0 < 1 \;\Rightarrow\; U_t \text{ is } \frac{c^2\mu}{(1 - \sqrt s)^2}"
    r"\text{-incoherent}; \quad E_t \text{ is } c_z^2\mu\text{-incoherent}",
    plain="With a small c_0 the event makes the server's U and error incoherent, with other mu.",
    broken={"power": 1.0},
    corrects="perfedsi.definitionC3",
)
def definitionC3_corrected(budget, rng, *, power=2.0) -> Evidence:
    """Search both, at iterates that all clients share; the power is that of c and of c_z."""
    ratios = _unequal()
    parts = _entailed(budget, rng, power)
    return combine(
        parts,
        f"{combine(parts).sentence}; {parts[1].name}: {parts[1].sentence}. With the same mu neither"
        f" definition entails the other: mu of C.3 over that of 3.1 is {min(ratios):.3g} to "
        f"{max(ratios):.3g} at U = U*/c, V = c V*, c from 1/6 to 6. A client's own iterate within a"
        " round is bounded on its own z_m only, so that neither is said of it",
    )
