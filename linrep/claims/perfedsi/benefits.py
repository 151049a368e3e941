"""What Theorem 3.3 is said to gain: samples per client, and against lower bounds without Z."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from linrep.algorithms import imc
from linrep.claims import LEVEL, Evidence, claim, combine, mean_between, trend
from linrep.claims._parts import at_most, shown
from linrep.claims.perfedsi._runs import along, cell, state_of, tuned_rounds
from linrep.problems import Observations, SideInformationCompletion

#: What "much smaller than" is read as.
_MUCH = 0.1
_DIMENSIONS = (10, 100, 1000, 10**4, 10**6)
_CLIENTS = (10, 100, 1000, 10**4, 10**6)
_SIDES = (2, 3, 5, 10, 20, 50)
_RANKS = (1, 2, 5)
_EXACT = 1e-6


def _rounds(d, p, k, logs) -> float:
    """Return T = d k^(3/2) r log(1/eps), in the paper's letters, with constant 1."""
    return d * p**1.5 * k * logs


def _per_client(d, n, p, k, logs, steps=1, participants=1) -> float:
    """Return the samples of a client in so many rounds."""
    return _rounds(d, p, k, logs) * participants * steps / n


def _hidden() -> Evidence:
    """Compare samples per client with d k^(3/2) r log(1/eps)/M: one factor whatever the sizes."""
    factors: dict[tuple[int, int], set[float]] = {}
    sizes = product(_DIMENSIONS, _CLIENTS, _SIDES, _RANKS, (3.0, 14.0), (1, 5, 30), (1, 4))
    for d, n, p, k, logs, steps, participants in sizes:
        ratio = _per_client(d, n, p, k, logs, steps, participants) / (d * p**1.5 * k * logs / n)
        factors.setdefault((steps, participants), set()).add(round(ratio, 9))
    single = all(len(found) == 1 for found in factors.values())
    largest = max(max(found) for found in factors.values())
    return shown(
        single, "the factor hidden besides log(1/eps) is tau C, up to "
        f"{largest:g} here and one whatever d, M, k, r: constant for constant tau and C only",
        measured=largest, predicted=1.0, name="samples per client", n_trials=len(factors),
    )  # fmt: skip


def _against_local(k_power) -> Evidence:
    """Compare the regions k^(3/2) < M/r and samples < d."""
    wrong = [
        {"d": d, "M": n, "k": p, "r": k}
        for d, n, p, k in product(_DIMENSIONS, _CLIENTS, _SIDES, _RANKS)
        if p >= k and (_per_client(d, n, p, k, 1.0) < d) != (p**k_power < n / k)
    ]
    return shown(
        not wrong, f"samples below d and k^{k_power:g} < M/r differ in {len(wrong)} cases",
        measured=len(wrong), predicted=0.0, counterexample=wrong[0] if wrong else None,
        name="better than alone",
    )  # fmt: skip


def _logs(d, n, p, k, clients, steps=1) -> float:
    """Return the largest log(1/eps) that is much smaller than d, or than M/(k^(3/2) r tau)."""
    return _MUCH * (n / (p**1.5 * k * steps) if clients else d)


def _fewer_than_items(clients) -> Evidence:
    """Compare |D_m| with d wherever eps is as the text allows and k^(3/2) much below M/r."""
    cases = []
    for d, n, p, k in product(_DIMENSIONS, _CLIENTS, _SIDES, _RANKS):
        if p >= k and p**1.5 <= _MUCH * n / k:
            logs = _logs(d, n, p, k, clients)
            told = {"d": d, "M": n, "k": p, "r": k, "tau": 1, "C": 1, "log(1/eps)": logs}
            cases.append((_per_client(d, n, p, k, logs), float(d), told))
    return at_most(cases, name="|D_m| <= d, by the rounds stated")


def _measured_share(budget, rng, clients, level) -> Evidence:
    """Measure |D_m|/d for a long vector of items, at the best step size."""
    setting = cell(n=30, d=512, p=2, k=1, side="isometric")
    logs = _logs(512, 30, 2, 1, clients, setting["tau"])
    shares = []
    for _ in range(budget(12, 40)):
        rounds = tuned_rounds(state_of(setting, rng), setting, rng) * logs / np.log(1e6)
        shares.append(rounds * setting["tau"] * setting["C"] / setting["n"] / setting["d"])
    told = {"d": 512, "M": 30, "k": 2, "r": 1, "tau": 5, "C": 1, "log(1/eps)": logs}
    return mean_between(shares, -np.inf, 1.0, level=level, setting=told, name="|D_m|/d, measured")


def _along_sides(budget, rng, level):
    """Return whether rounds at tuned steps grow with k, and their table, seeds in rows."""
    values = budget((2, 8, 32), (2, 4, 8, 16, 32))
    settings = [cell(p=value, k=1) for value in values]
    samples = np.array([
        [tuned_rounds(state_of(setting, rng), setting, rng) for setting in settings]
        for _ in range(budget(12, 30))
    ])  # fmt: skip
    return trend(samples, level=level, name="rounds grow with k"), np.median(samples, axis=0)


@claim(
    "perfedsi.benefit",
    place="Section 3, after Theorem 3.3; C.1",
    kind="comparison",
    latex=r"|D_m| = \tilde O(dk^{3/2}r/M); \quad |D_m| < d \text{ if } k^{3/2} \ll M/r; \quad"
    r" |D_m| \ll d \text{ as long as } \epsilon \gg e^{-d}",
    plain="Federation with side information takes fewer samples than clients alone, the fewer the "
    "smaller k.",
    broken={"k_power": 1.0},
    mended={"clients": True},
)
def benefit(budget, rng, *, k_power=1.5, clients=False) -> Evidence:
    """Compare counts, and measure samples; clients: eps against exp(-M/(k^(3/2) r tau C))."""
    level = LEVEL / 3
    grows, medians = _along_sides(budget, rng, level)
    parts = [
        _hidden(),
        _against_local(k_power),
        _fewer_than_items(clients),
        _measured_share(budget, rng, clients, level),
        grows,
        along(
            "samples per client", (50, 100, 200, 400), _samples, -1.0, budget(8, 80), rng, level,
            variable="n",
        ),
    ]  # fmt: skip
    return combine(
        parts,
        f"{combine(parts).sentence}; {parts[0].sentence}. Alone d entries are needed, or d log d "
        "fresh ones. |D_m|/d = k^(3/2) r tau C log(1/eps)/M does not depend on d, so that eps has "
        "to be above exp(-M/(k^(3/2) r tau C)), and k^(3/2) below M/(r tau C log(1/eps)) to beat "
        "training alone; measured, it is "
        f"{parts[3].measured:.2g} at d = 512. Rounds at tuned steps go from {medians[0]:.0f} to "
        f"{medians[-1]:.0f} as k goes from 2 to 32",
    )


def _samples(state, setting, rng) -> float:
    """Return the samples of a client to 1e-6 at tuned steps."""
    return tuned_rounds(state, setting, rng) * setting["tau"] * setting["C"] / setting["n"]


def _total(over_items, k_power) -> Evidence:
    """Compare d k^(3/2) r with (d + M) r wherever k^(3/2) is much smaller than M, or than M/d."""
    cases = []
    ratios = (1e-3, 1e-2, 0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e5)
    for d, ratio, p in product(_DIMENSIONS, ratios, _SIDES):
        n = d * ratio
        if n >= p and p**k_power <= _MUCH * (n / d if over_items else n):
            told = {"d": d, "M": n, "k": p, "r": 1}
            cases.append((_rounds(d, p, 1, 1.0), float(d + n), told))
    return at_most(cases, name="d k^(3/2) r <= (d + M) r")


def _exact_region() -> Evidence:
    """Decide that d k^(3/2) < d + M is k^(3/2) < 1 + M/d."""
    wrong = [
        {"d": d, "M": n, "k": p}
        for d, n, p in product(_DIMENSIONS, _CLIENTS, _SIDES)
        if (d * p**1.5 < d + n) != (p**1.5 < 1.0 + n / d)
    ]
    equal = max((p for p in _SIDES if p**1.5 < 2.0), default=1)
    return shown(
        not wrong, f"the region is k^(3/2) < 1 + M/d: k up to {equal} where d = M",
        measured=len(wrong), predicted=0.0, name="region",
    )  # fmt: skip


def _counts(rng) -> Evidence:
    """Compare free parameters with and without side information."""
    cases = []
    for n, d, p, k in ((20, 10, 4, 2), (20, 50, 19, 3), (100, 30, 8, 1), (40, 40, 40, 2)):
        seen = SideInformationCompletion.random(n=n, d=d, p=p, k=k, rng=rng).observe(1, rng=rng)
        without = seen.without_side_information()
        told = {"M": n, "d": d, "k": p, "r": k}
        cases.append((seen.degrees_of_freedom(k), without.degrees_of_freedom(k), told))
    return at_most(cases, name="parameters, with Z and without")


def _fewest(truth, order, with_side) -> int:
    """Return the fewest of the entries in an order from which Gauss-Newton finds the matrix."""
    items, clients = order
    values = truth.entries(items, clients)

    def found(count):
        seen = Observations(
            items[:count], clients[:count], values[:count], truth.Z if with_side else None,
            n=truth.n, d=truth.d, truth=truth,
        )  # fmt: skip
        return imc.gauss_newton(seen, truth.k, iterations=15)["error"][-1] < _EXACT

    low, high = truth.k * truth.d - 1, len(items)
    while high - low > max(1, low // 10):
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def _recovery(runs, rng, n, d, k, sides) -> np.ndarray:
    """Return the fewest entries per seed (rows), for sides and at last without side information."""
    rows = []
    for _ in range(runs):
        clients, items = np.divmod(rng.permutation(n * d), d)
        row = []
        for p in sides:
            truth = SideInformationCompletion.random(n=n, d=d, p=p, k=k, rng=rng)
            row.append(_fewest(truth, (items, clients), True))
        row.append(_fewest(truth, (items, clients), False))
        rows.append(row)
    return np.array(rows, dtype=float)


@claim(
    "perfedsi.lower_bound",
    place="Section 3, after Theorem 3.3",
    kind="comparison",
    latex=r"k^{3/2} \ll M \;\Rightarrow\; dk^{3/2}r \text{ samples improve on } \Omega((d + M)r)",
    plain="Side information improves on the lower bound without it if k^(3/2) << M.",
    broken={"k_power": 0.5},
    mended={"over_items": True},
)
def lower_bound(budget, rng, *, k_power=1.5, over_items=False) -> Evidence:
    """Compare counts, and the fewest entries with the bound; over_items: M/d in place of M."""
    level, k, sides = LEVEL / 2, 2, budget((4, 16), (4, 8, 16))
    n, d = 32, 8
    table = _recovery(budget(8, 20, 60), rng, n, d, k, sides)
    bound = (d + n) * k
    square = np.median(_recovery(budget(1, 9), rng, 16, 16, k, (4,)), axis=0)
    medians = np.median(table, axis=0)
    points = pd.DataFrame(
        {
            "panel": f"d = {d}, M = {n}, r = {k}", "series": "", "x": [*sides, n], "y": medians,
            "predicted": [k * (d + p - k) for p in (*sides, n)],
            "xlabel": "k (M: without)", "ylabel": "fewest entries; predicted: parameters",
        }
    )  # fmt: skip
    grows = trend(table, level=level, name="fewest entries grow with k")
    parts = [
        _total(over_items, k_power),
        _exact_region(),
        _counts(rng),
        grows,
        mean_between(
            table[:, 0] / bound, -np.inf, 1.0, level=level, name="k = 4, over (d + M) r, M = 4 d"
        ),
    ]
    found = combine(
        parts,
        f"{combine(parts).sentence}; {parts[1].sentence}. From d = {d}, M = {n} entries, r = {k}, "
        f"Gauss-Newton needs {medians[0]:.0f} with k = 4 and {medians[-1]:.0f} without, the bound "
        f"being {bound}; where d = M = 16 they are {square[0]:.0f} and {square[1]:.0f} against "
        f"{32 * k}",
    )
    return replace(found, points=points)
