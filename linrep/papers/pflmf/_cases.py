"""Rounds of pFL^MF on which the proof's inequalities are tried, with constants that hold there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Cases, Reader, Search, search_instances
from linrep.claims.measurements import Array
from linrep.problems import Objectives, SoftmaxObjectives
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds

CHANCES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
STEPS = (1, 2, 5, 20, 200)
#: eta L; Theorem 1 asks that it be below 1/2.
SIZES = (0.001, 0.01, 0.1, 0.3, 0.499)
KINDS = ("identity", "own", "indefinite", "logistic", "cosine", "affine")
QUADRATIC = ("identity", "own", "indefinite")
FLAT = 1e-4
_ROUNDING = 1e-9
_TAIL = 9.0  # standard deviations of noise that the ball has room for
QUANTITY = "left side over the sum of both"

LeftRight = Callable[["Case"], tuple[float, float]]


class Case(NamedTuple):
    """A round: what it starts from, its setting with constants valid on its way, expectations."""

    problem: Objectives
    U: Array
    V: Array
    setting: theory.Setting
    round: theory.Round
    kind: str

    def instance(self) -> dict[str, Any]:
        """Return what makes the round again: plain numbers."""
        s = self.setting
        found = {
            "kind": self.kind,
            "p": s.participation,
            "K": s.local_steps,
            "eta": s.step_size,
            "eta L": s.step_size * s.largest,
            "L_U": s.in_U,
            "L_V": s.in_V,
            "sigma": s.noise,
            "U": self.U.tolist(),
            "V": self.V.tolist(),
        }
        if isinstance(self.problem, lr.QuadraticObjectives):
            found["A"] = self.problem.A.tolist()
            if self.problem.H is not None:
                found["H"] = self.problem.H.tolist()
        return found

    def rounding(self) -> float:
        """Return what rounding may do to differences of the objective.

        For quadratic functions it is that of U v_i - a_i, which may cancel.
        """
        r = self.round
        room = abs(r.value) + abs(r.after_V) + abs(r.after_U) + abs(r.after_both)
        if isinstance(self.problem, lr.QuadraticObjectives):
            theta, curvature = self.V @ self.U.T, self.problem.smoothness
            lengths = np.linalg.norm(theta, axis=1) + np.linalg.norm(self.problem.A, axis=1)
            errors = np.linalg.norm(theta - self.problem.A, axis=1)
            room += float(np.mean(curvature * lengths * (errors + 1e-13 * lengths)))
        return 1e-13 * room

    def allowed(self, left: float, right: float) -> float:
        """Return the right side with room for rounding."""
        return right + _ROUNDING * (abs(left) + abs(right)) + self.rounding()


def affine(C) -> Objectives:
    """Return the functions c_i'x."""
    return lr.CustomObjectives(
        lambda i, x: (float(C[i] @ x), C[i]), n=len(C), d=C.shape[1], smoothness=np.zeros(len(C))
    )


def cosine() -> Objectives:
    """Return the function cos(u v) of one client, bounded, whose gradients are not linear."""
    return lr.CustomObjectives(
        lambda i, x: (float(np.cos(x[0])), -np.sin(x)), n=1, d=1, smoothness=[1.0]
    )


def drawn(rng, kind, n, d) -> Objectives:
    """Return functions of a kind; of three samples a client, and classes, where there are any."""
    A = rng.standard_normal((n, d))
    if kind == "affine":
        return affine(A)
    if kind == "cosine":  # bounded, and not convex: gradients grow along the first steps
        return lr.CustomObjectives(
            lambda i, x: (float(np.sum(np.cos(x - A[i]))), -np.sin(x - A[i])),
            n=n,
            d=d,
            smoothness=np.ones(n),
        )
    if kind in ("logistic", "softmax"):
        X, offsets = rng.standard_normal((3 * n, d)), 3 * np.arange(n + 1)
        if kind == "softmax":
            labels = rng.integers(0, 3, 3 * n).astype(float)
            return SoftmaxObjectives(lr.ClientData(X, labels, offsets), 3)
        return lr.LogisticObjectives(lr.ClientData(X, rng.choice([-1.0, 1.0], 3 * n), offsets))
    if kind == "identity":
        return lr.QuadraticObjectives(A)
    roots = rng.standard_normal((n, d, d))
    H = roots + roots.swapaxes(1, 2) if kind == "indefinite" else roots @ roots.swapaxes(1, 2)
    return lr.QuadraticObjectives(A, H)


def valid(problem, U, V, p, K, eta_L, noise=0.0, kind="", least=0.0) -> Case | None:
    """Return the round with eta = eta_L/L, L valid on a ball that it stays in; None without one.

    The ball is that of the round itself: its radii are what U and V move by if everyone takes
    part, and nine standard deviations of noise. `noise` is relative to the gradients' norm, and
    sigma at least `least`.
    """
    U, V = np.asarray(U, dtype=float), np.asarray(V, dtype=float)
    _, in_U, in_V = problem.factor_gradients(U, V)
    sigma = max(least, noise * float(np.sqrt(np.sum(in_U**2) + np.sum(in_V**2))))
    radii = np.zeros(2)
    for _ in range(60):
        found = theory.local_smoothness(problem, U, V, *radii)
        if not (min(found.in_U, found.in_V) > 0.0 and found.largest < 1e100):
            return None
        step = eta_L / found.largest
        s = theory.Setting(p, K, step, found.in_U, found.in_V, sigma)
        path = pflmf_rounds.local_path(s, problem, U, V)
        needed = np.array(
            [step * np.linalg.norm(in_U), np.sqrt(np.sum((path.means - V) ** 2, axis=(1, 2)).max())]
        )
        if path.spreads is not None:
            widest = np.einsum("tnaa->t", path.spreads).max()
            needed += _TAIL * np.array([step * sigma, np.sqrt(widest)])
        if (needed <= radii).all():
            expected = pflmf_rounds.round_along(s, problem, U, V, path)
            return Case(problem, U, V, s, expected, kind)
        radii = np.maximum(radii, needed) * (1.0 + 1e-6)
    return None


def certain(*arguments, **options) -> Case:
    """Return the round of :func:`valid` where there is one."""
    case = valid(*arguments, **options)
    assert case is not None
    return case


def at_random(rng, count, kinds=KINDS, noisy=False, sizes=SIZES) -> Iterator[Case]:
    """Yield rounds of random problems and states, over the whole range of p, K and eta L."""
    made = 0
    while made < count:
        kind = str(rng.choice(kinds))
        n, d = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        k = int(rng.integers(1, min(n, d) + 1))
        problem = drawn(rng, kind, n, d)
        lengths = 10.0 ** rng.uniform(-2.0, 0.7, 2)
        U, V = (size * rng.standard_normal((m, k)) for size, m in zip(lengths, (d, n), strict=True))
        if rng.random() < 0.2:
            V = 0.0 * V  # the start of the experiments: U does not move
        noise = 10.0 ** rng.uniform(-2.0, 1.0) if noisy and rng.random() < 0.7 else 0.0
        case = valid(
            problem,
            U,
            V,
            float(rng.choice(CHANCES)),
            int(rng.choice(STEPS)),
            float(rng.choice(sizes)),
            noise if kind in QUADRATIC else 0.0,
            kind,
        )
        if case is not None:
            made += 1
            yield case


def flat(p, K, eta_L, noise=0.0, n=1) -> Case:
    """Return a round of |u v_i|^2/2 at u = 1 and small v: nearly |v|^2/2, L being 1/n."""
    problem = lr.QuadraticObjectives(np.zeros((n, 1)))
    return certain(problem, [[1.0]], np.full((n, 1), FLAT), p, K, eta_L, noise, "flat")


def flat_grid(n=1, noise=0.0, chances=CHANCES, steps=STEPS, sizes=SIZES) -> Iterator[Case]:
    """Yield such rounds over the grid of p, K and eta L."""
    for p, K, eta_L in product(chances, steps, sizes):
        yield flat(p, K, eta_L, noise, n)


def steep(eta_L, K=1, noise=1e3, p=1.0) -> Case:
    """Return a round of (u v - 1e-9)^2/2 at u = 0, v = 1: nearly u^2/2, L being 1."""
    problem = lr.QuadraticObjectives(np.full((1, 1), 1e-9))
    return certain(problem, [[0.0]], [[1.0]], p, K, eta_L, noise, "steep")


def at_rest(p, K, eta_L, sigma=1e-5) -> Case:
    """Return a round of (u v - 1)^2/2 at its minimum u = v = 1: noise alone, in both curvatures."""
    one = np.ones((1, 1))
    problem = lr.QuadraticObjectives(one)
    return certain(problem, one, one, p, K, eta_L, kind="at rest", least=sigma)


def at_rest_grid(steps, sizes) -> list[Case]:
    """Return such rounds over the grid of p, K and eta L."""
    return [at_rest(*setting) for setting in product(CHANCES, steps, sizes)]


def bilinear_grid(steps) -> list[Case]:
    """Return rounds of affine functions over the grid of p, K and eta L."""
    return [bilinear(*setting) for setting in product(CHANCES, steps, SIZES)]


def bilinear(p, K, eta_L, n=2) -> Case:
    """Return a round of affine functions, for which L holds everywhere; U's gradient is zero."""
    problem = affine(np.array([1.0, -1.0] * (n // 2))[:, None])
    return certain(problem, [[1.0]], np.ones((n, 1)), p, K, eta_L, kind="affine, c_i = 1, -1")


def read(reader: Reader, shape) -> Case | None:
    """Return a round of quadratic functions h_i (u v_i - a_i)^2/2, one column, read off numbers.

    Without noise where it has no number, or none that is positive; eta L is below `halves`/2.
    """
    first, steps, size = reader.numbers(3)
    u, V, A, H = reader.numbers(1, 1), *(reader.numbers(shape["n"], 1) for _ in range(3))
    sigma = max(reader.number(), 0.0) if shape["noisy"] else 0.0
    p, eta_L = 1.0 / (1.0 + np.exp(-first)), 0.5 * shape["halves"] / (1.0 + np.exp(-size))
    K = 1 + int(min(4.0 * abs(steps), 15.0))
    largest = max(float(np.abs(part).max()) for part in (u, V, A, H))
    if p < 0.01 or eta_L < 1e-4 or max(largest, sigma) > 1e3:
        return None
    problem = lr.QuadraticObjectives(A, H[:, :, None])
    return valid(problem, u, V, p, K, eta_L, kind="h (u v - a)^2/2", least=sigma)


def tried(cases: Iterable[Case], lhs_rhs: LeftRight, name: str, strength: str = "") -> Cases:
    """Return left <= right for every round."""
    found = ((case, *lhs_rhs(case), case.instance()) for case in cases)
    return compared(found, name, strength)


def compared(
    found: Iterable[tuple[Case, float, float, dict]], name: str, strength: str = ""
) -> Cases:
    """Return lhs <= rhs for rounds with both and instances, relative to their sizes."""
    cases = []
    for case, left, right, at in found:
        scale = max(abs(left) + abs(right), 1e-300)
        cases.append((left / scale, case.allowed(left, right) / scale, at))
    return Cases(cases, quantity=QUANTITY, name=name, strength=strength)


def searched(
    lhs_rhs: LeftRight, budget, rng, name: str = "search", noisy: bool = True, strength: str = "",
    halves: int = 1,
) -> Search:  # fmt: skip
    """Search rounds of one and two clients for left > right; sigma is searched, too, if `noisy`.

    eta L is below `halves`/2.
    """

    def sides(case: Case) -> tuple[float, float]:
        left, right = lhs_rhs(case)
        return left, case.allowed(left, right)

    shapes = [{"n": n, "noisy": int(noisy), "halves": halves} for n in (1, 2)]
    return search_instances(sides, shapes, read, budget, rng, name=name, strength=strength)


def reached(
    cases: Iterable[Case], lhs_rhs: LeftRight, share: float, name: str, strength: str = ""
) -> Cases:
    """Return whether left comes to so large a share of right in every round."""
    found = []
    for case in cases:
        left, right = lhs_rhs(case)
        scale = max(abs(left) + abs(right), 1e-300)
        found.append((share * right / scale, case.allowed(right, left) / scale, case.instance()))
    return Cases(
        found,
        quantity="share of the right side, over the sum of both",
        name=name,
        strength=strength,
    )


def largest(cases: Iterable[Case], lhs_rhs: LeftRight, by: str = "K") -> pd.DataFrame:
    """Return the largest left/right: a row per p, a column per K or eta L; NaN without a case."""
    return largest_of(((case, *lhs_rhs(case)) for case in cases), by)


def largest_of(found: Iterable[tuple[Case, float, float]], by: str = "K") -> pd.DataFrame:
    """Return the largest lhs/rhs, a row per p and a column per K or eta L, of rounds with both.

    Of those that rounding is small for; infinite where rhs is not positive, NaN without a case.
    """
    rows = []
    for case, left, right in found:
        if left > 0.0 and abs(left) + abs(right) > 1e6 * case.rounding():
            s = case.setting
            at = s.local_steps if by == "K" else round(s.step_size * s.largest, 9)
            rows.append((s.participation, at, left / right if right > 0.0 else np.inf))
    table = pd.DataFrame(rows, columns=["p", by, "ratio"])
    return table.pivot_table(index="p", columns=by, values="ratio", aggfunc="max")


def drawn_as(table: pd.DataFrame, panel: str = "", ylabel: str = "left over right side"):
    """Return the points of a picture of such ratios."""
    rows = [
        {
            "panel": panel,
            "series": f"{table.columns.name} = {at:g}",
            "x": p,
            "y": ratios[at],
            "predicted": 1.0,
            "allowed": "below",
            "xlabel": "p",
            "ylabel": ylabel,
        }
        for p, ratios in table.iterrows()
        for at in table.columns
        if np.isfinite(ratios[at])
    ]
    return pd.DataFrame(rows)


def rounds(budget, rng, noise=1.0) -> dict[str, list[Case]]:
    """Return rounds: |u v_i|^2/2 with small v over p, K and eta L, and random ones, all twice."""
    grid: dict[str, Any] = {}
    if budget.name == "quick":
        grid = {
            "chances": (0.02, 0.25, 0.5, 1.0),
            "steps": (1, 5, 200),
            "sizes": (0.01, 0.1, 0.499),
        }
    count = budget(60, 1000, 10_000)
    return {
        "|v|^2/2": list(flat_grid(**grid)),
        "|v|^2/2, three clients, noise": list(flat_grid(**grid, n=3, noise=noise)),
        "random rounds, exact gradients": list(at_random(rng, count)),
        "random rounds, noise": list(at_random(rng, count, QUADRATIC, noisy=True)),
    }


def everywhere(
    lists, lhs_rhs, budget, rng, prefix="", noisy=True, strength=""
) -> Iterator[Cases | Search]:
    """Yield an inequality on all these rounds, and in a search."""
    for name, cases in lists.items():
        yield tried(cases, lhs_rhs, prefix + name, strength)
    yield searched(lhs_rhs, budget, rng, f"{prefix}search", noisy, strength)


def counted(case: Case, masked: bool):
    """Return the round, with E||D grad||^2/p for E||grad||^2 at the local steps if `masked`."""
    if not masked:
        return case.round
    return case.round._replace(
        delta_V=float(case.round.masked_V.mean()) / case.setting.participation
    )
