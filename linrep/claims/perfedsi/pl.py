"""Lemma C.5: the gradient against the loss, where factors are aligned with the truth."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from linrep.claims import (
    HOLDS,
    LEVEL,
    Evidence,
    claim,
    combine,
    exponent,
    inequality,
    log_slope,
)
from linrep.claims._parts import at_most
from linrep.claims.perfedsi._instances import (
    ERRORS,
    SHAPES,
    length,
    needed,
    random_truth,
    relative_loss,
    setting_of,
    sizes,
    split,
    unpack,
)
from linrep.theory import perfedsi as theory


def _flattest(truth, U, V):
    """Return the least ||grad L||^2/L of small errors at a factorization of M*.

    Errors there are J w, J the derivative of U V' S^(1/2); the gradient is J' applied to them and L
    half their square, so that it is twice the least nonzero squared singular value of J.
    """
    root = np.linalg.cholesky(truth.Z.T @ truth.Z / truth.n)
    in_U = np.kron(np.eye(truth.d), root.T @ V)
    in_V = np.einsum("ic,qp->ipqc", U, root).reshape(truth.d * truth.p, -1)
    values = np.linalg.svd(np.hstack([in_U, in_V]), compute_uv=False)
    rank = truth.k * (truth.d + truth.p - truth.k)
    return 2.0 * float(values[rank - 1]) ** 2


def _moved(truth, factors, size, rng):
    """Return U with an error orthogonal to U*'s columns, of a size relative to sigma_k."""
    U, V = factors
    other = rng.standard_normal(U.shape)
    basis = np.linalg.qr(truth.U)[0]
    other -= basis @ (basis.T @ other)
    return U + other * (size * truth.singular_values[-1] / np.linalg.norm(other @ V.T)), V


def _region(budget, rng):
    """Yield gamma L over ||grad L||^2 in the lemma's region, for both readings of U* and V*."""
    found: dict[str, list] = {"orthonormal U*, V*": [], "scaled U*, V*": []}
    for c in budget((1.0, 3.0, 100.0), (1.0, 2.0, 3.0, 10.0, 30.0, 100.0)):
        for c_z in (1.0, 4.0):
            for unit in (1e-2, 1.0, 1e2):
                truth = random_truth((2.0 * unit, unit), c_z, rng)
                gamma = theory.pl_constant(setting_of(truth, c))
                for name, scale in zip(found, (1.0, np.sqrt(unit)), strict=True):
                    # One factor is on the region's edge: gamma/scale times its frame.
                    for side in "UV":
                        for size in ERRORS:
                            U, V = _moved(truth, split(truth, gamma / scale, side), size, rng)
                            if min(_edges(truth, U, V, name[0] == "o")) < gamma * (1.0 - 1e-9):
                                continue
                            loss, slope = sizes(truth, U, V)
                            instance = {
                                "c": c, "c_z": c_z, "sigma_r": unit, "error": size, "small": side,
                                "gamma": gamma,
                            }  # fmt: skip
                            found[name].append((gamma * loss / slope**2, 1.0, instance))
    return found


def _edges(truth, U, V, orthonormal):
    """Return the least singular values of U*'U and V*'V; scaled ones have the roots of Sigma."""
    left, values, right = np.linalg.svd(truth.M, full_matrices=False)
    roots = 1.0 if orthonormal else np.sqrt(values[: truth.k])
    stars = left[:, : truth.k] * roots, right[: truth.k].T * roots
    return [
        float(np.linalg.svd(star.T @ A, compute_uv=False)[-1])
        for star, A in zip(stars, (U, V), strict=True)
    ]


def _searched(budget, rng, orthonormal, name):
    """Search the region, V being scaled to its edge and U the other way; c is 1 or more."""

    def sides(shape, x):
        instance = unpack(shape, x[1:])
        if instance is None or relative_loss(*instance) < 1e-12:
            return None
        truth, U, V = instance
        gamma = theory.pl_constant(setting_of(truth, 1.0 + min(abs(float(x[0])), 99.0)))
        in_U, in_V = _edges(truth, U, V, orthonormal)
        if min(in_U, in_V) == 0.0 or in_U * in_V < gamma**2:
            return None
        scale = gamma / in_V
        loss, slope = sizes(truth, U / scale, V * scale)
        return gamma * loss, slope**2

    return inequality(sides, SHAPES[:2], lambda shape: length(shape) + 1, budget, rng, name=name)


def _with_norms(budget, rng, bound, name):
    """Search bound(setting) L <= ||grad L||^2 where norms are at most c sqrt(sigma_1), L small."""

    def sides(shape, x):
        instance = unpack(shape, x)
        if instance is None:
            return None
        truth, U, V = instance
        setting = setting_of(truth, needed(truth, U, V)[0].norms)
        loss, slope = sizes(truth, U, V)
        if not 1e-12 < 32.0 * setting.c_z * loss / setting.smallest**2 <= 1.0:
            return None
        return bound(setting) * loss, slope**2

    return inequality(sides, SHAPES, length, budget, rng, name=name)


def _at_the_limit(bound, rng):
    """Yield the bound over ||grad L||^2/L of small errors, U = c sqrt(sigma_1) times a frame.

    V is as small as the product allows then.
    """
    for c in (1.0, 2.0, 5.0, 20.0, 100.0):
        for c_z, kappa in ((1.0, 1.0), (4.0, 1.0), (1.0, 10.0), (16.0, 100.0)):
            for aligned in (False, True):
                truth = random_truth((kappa, 1.0), c_z, rng, aligned=aligned)
                flattest = _flattest(truth, *split(truth, c * np.sqrt(kappa), "U"))
                yield bound(setting_of(truth, c)) / flattest, 1.0, {
                    "c": c, "c_z": c_z, "kappa": kappa,
                }  # fmt: skip


def _twentieth(budget, rng, factor, power, name):
    """Search (20): factor/M times the minimum, in which c_z has a power, against the gradient."""

    def sides(shape, x):
        instance = unpack(shape, x)
        if instance is None or relative_loss(*instance) < 1e-12:
            return None
        truth = instance[0]
        found = theory.alignment(*instance)
        loss, slope = sizes(*instance)
        c_z = theory.scaling(truth.Z).c_z
        least = min(found.heads, found.side * found.items * c_z**power)
        return factor * least * loss / truth.n, slope**2

    return inequality(sides, SHAPES, length, budget, rng, name=name)


def _last_line():
    """Yield gamma against (1/M) sigma_min^2(Y*'ZV) at (21)'s value of it, sqrt(sigma_r/c)."""
    for n in (1, 4, 20, 100):
        for c in (1.0, 10.0):
            for c_z in (1.0, 4.0):
                setting = theory.Setting(d=6, p=1, k=1, c=c, c_z=c_z)
                yield theory.pl_constant(setting), setting.smallest / c / n, {
                    "M": n, "c": c, "c_z": c_z,
                }  # fmt: skip


def _heads_in_clients(rng):
    """Return the power of M in sigma_min(Y*'ZV) at V = V*, Z'Z = M I."""
    clients, found = (10, 100, 1000), []
    for n in clients:
        truth = random_truth((1.0, 1.0), 1.0, rng, n=n)
        found.append(np.sqrt(theory.alignment(truth, truth.U, truth.V).heads))
    return float(np.polyfit(np.log(clients), np.log(found), 1)[0])


#: Sizes of 1/gamma at the region's edge; of c, kappa = sigma_1/sigma_r and c_z with norms at their
#: limit, sigma_r being fixed.
_LINES = {
    "1/gamma": (1.0, 3.0, 10.0, 30.0, 100.0),
    "c": (1.0, 2.0, 4.0, 8.0, 16.0),
    "kappa": (1.0, 2.0, 4.0, 8.0, 16.0),
    "c_z": (1.0, 2.0, 4.0, 8.0, 16.0),
}


def _slopes(budget, rng, claimed):
    """Return how fast L/||grad L||^2 of the flattest small error grows, at most as claimed."""
    parts = []
    for (name, values), power in zip(_LINES.items(), claimed, strict=True):
        samples = []
        for value in values:
            c, kappa, c_z = (value if name == line else 1.0 for line in ("c", "kappa", "c_z"))
            column = []
            for _ in range(budget(10, 40)):
                truth = random_truth((kappa, 1.0), c_z, rng, aligned=True)
                edge = (1.0 / value, "V") if name == "1/gamma" else (c * np.sqrt(kappa), "U")
                column.append(1.0 / _flattest(truth, *split(truth, *edge)))
            samples.append(column)
        level = LEVEL / len(_LINES)
        parts.append(
            exponent(
                log_slope(values, samples, level=level, rng=rng), power, at_most=True, level=level,
                n_trials=len(values) * len(samples[0]), name=f"L/|grad L|^2 in {name}",
                points=pd.DataFrame(
                    {
                        "panel": "", "series": "", "x": values,
                        "y": [np.median(column) for column in samples], "xlabel": name,
                        "ylabel": "largest L/|grad L|^2",
                    }
                ),
            )
        )  # fmt: skip
    return parts


@claim(
    "perfedsi.lemmaC5",
    place="Lemma C.5, (16)-(21)",
    kind="deterministic inequality",
    latex=r"\sigma_{\min}(U_*^\top U), \sigma_{\min}(V_*^\top V) \ge \gamma ="
    r" \frac{\sigma_r}{c c_z^2} \;\Rightarrow\; \|\nabla\mathcal L\|_F^2 \ge \gamma\mathcal L",
    plain="A PL inequality with the gamma that bounds the factors' alignment with the truth.",
    broken={"power": 0.5},
)
def lemmaC5(budget, rng, *, power=1.0) -> Evidence:
    """Search the region, the event's conditions and (20); the power is gamma's in the slopes."""
    region = {name: at_most(cases) for name, cases in _region(budget, rng).items()}
    searched = [
        _searched(budget, rng, name.startswith("o"), f"region, searched, {name}") for name in region
    ]
    best_region, best_searched = (
        min(parts, key=lambda part: part.verdict != HOLDS) for parts in (region.values(), searched)
    )
    twenty = _twentieth(budget, rng, 1.0, -2.0, "(20)")
    last = at_most(_last_line(), name="(20) gives the last line by (21)")
    slopes = _slopes(budget, rng, (power, 1.0, 0.0, 2.0))
    parts = [
        replace(best_region, name="region, families"),
        best_searched,
        at_most(_at_the_limit(theory.pl_constant, rng), name="norms at their limit"),
        _with_norms(budget, rng, theory.pl_constant, "norms bounded, L small, searched"),
        twenty,
        last,
        *slopes,
    ]
    told = "; ".join(f"{name}: {part.sentence}" for name, part in region.items())
    return combine(
        parts,
        f"gamma L over the gradient's square, in the region: {told}; where only norms are bounded: "
        f"{parts[2].sentence}. Both gradients are products with U or V, so that their squares go "
        "with squares of singular values, gamma^2 where gamma is claimed. (20) holds, up to "
        f"{twenty.tightness:.3g} of it used where 1/M stands; sigma_min(Y*'ZV) grows like M^"
        f"{_heads_in_clients(rng):.2f}, and (21), which has no M, does not give the last line "
        f"({last.sentence}). Powers in L/|grad L|^2 of the flattest small errors: "
        + ", ".join(
            f"{part.name[16:]} {part.measured:.2f} (claimed {part.predicted:g})" for part in slopes
        ),
    )


@claim(
    "perfedsi.lemmaC5.corrected",
    place="Lemma C.5, (16)-(21)",
    kind="deterministic inequality",
    latex=r"\|U\|, \|V\| \le c\sqrt{\sigma_1},\ \mathcal L \le \frac{\sigma_r^2}{32 c_z}"
    r" \;\Rightarrow\; \|\nabla\mathcal L\|_F^2 \ge"
    r" \frac{9\sigma_r^2}{10 c_z c^2\sigma_1}\mathcal L; \quad \|\nabla\mathcal L\|_F^2 \ge"
    r" \tfrac2M\min\{\sigma_{\min}^2(\hat Y_*^\top ZV),"
    r" \sigma_{\min}^2(Z)\sigma_{\min}^2(\hat U_*^\top U)\}\mathcal L",
    plain="Near the truth a PL inequality follows from bounded norms; (20) holds with 2/M, no c_z.",
    broken={"power": 1.0},
    corrects="perfedsi.lemmaC5",
)
def lemmaC5_corrected(budget, rng, *, power=2.0) -> Evidence:
    """Search both; the power is that of c. The slopes show that no power is smaller."""
    near = partial(theory.pl_constant_near, power=power)
    families = list(_at_the_limit(near, rng))
    parts = [
        at_most(families, name="norms at their limit"),
        _with_norms(budget, rng, near, "norms bounded, L small, searched"),
        _twentieth(budget, rng, 2.0, 0.0, "(20) with 2/M"),
        *_slopes(budget, rng, (2.0, power, 1.0, 1.0)),
    ]
    return combine(
        parts,
        f"{combine(parts).sentence}. With norms at their limit up to "
        f"{max(left for left, _, _ in families):.3g} of the constant is used; (20) up to "
        f"{parts[2].tightness:.4g}. Powers in L/|grad L|^2: "
        + ", ".join(f"{part.name[16:]} {part.measured:.2f}" for part in parts[3:]),
    )
