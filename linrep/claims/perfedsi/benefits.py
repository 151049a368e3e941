"""What Theorem 3.3 is said to gain: samples per client, and against lower bounds without Z."""

from __future__ import annotations

from itertools import product

import numpy as np

from linrep.algorithms import imc
from linrep.claims import Cases, Fact, Frequency, Mean, Readings, Trend, statement
from linrep.claims.perfedsi._runs import along, cell, state_of, tuned_rounds
from linrep.claims.tables import curve
from linrep.problems import Observations, SideInformationCompletion

#: What "much smaller than" is read as, one after another.
_MUCH = (0.1, 0.01, 1e-3)
_DIMENSIONS = (10, 100, 1000, 10**4, 10**6)
_CLIENTS = (10, 100, 1000, 10**4, 10**6)
_SIDES = (2, 3, 5, 10, 20, 50, 200, 1000)
_RANKS = (1, 2, 5)
_ROUNDS = ((1, 1), (5, 1), (30, 4))  # local steps and participants
_EXACT = 1e-6


def _sizes(k_power=1.5):
    """Yield d, M, k, r with k^k_power much smaller than M/r, and how much."""
    for d, n, p, k in product(_DIMENSIONS, _CLIENTS, _SIDES, _RANKS):
        for much in _MUCH:
            if k <= min(d, p) and p <= n and p**k_power <= much * n / k:
                yield d, n, p, k, much


def _rounds(d, p, k, logs) -> float:
    """Return T = d k^(3/2) r log(1/eps), in the paper's letters, with constant 1."""
    return d * p**1.5 * k * logs


def _per_client(d, n, p, k, logs, steps=1, participants=1) -> float:
    """Return the samples of a client in so many rounds, in the mean over who participates."""
    return _rounds(d, p, k, logs) * participants * steps / n


def _against_local(k_power) -> Readings:
    """Compare samples with d where k^(3/2) is much below M/r, hidden factors in or not."""
    bare, whole = [], []
    for d, n, p, k, much in _sizes(k_power):
        at = {"d": d, "M": n, "k": p, "r": k, "much smaller": much}
        bare.append((_per_client(d, n, p, k, 1.0), float(d), at))
        for logs, (steps, participants) in product((3.0, 14.0), _ROUNDS):
            more = {"log(1/eps)": logs, "tau": steps, "C": participants}
            samples = _per_client(d, n, p, k, logs, steps, participants)
            whole.append((samples, float(d), at | more))
    return Readings(
        [
            Cases(bare, quantity="samples of a client", name="hidden factors left out"),
            Cases(whole, quantity="samples of a client", name="with log(1/eps) tau C"),
        ],
        name="samples below d",
    )


def _fewer_than_items(by_clients) -> Readings:
    """Compare |D_m| with d wherever eps is as said and k^(3/2) much below M/r, in both readings.

    log(1/eps) is much smaller than d, as printed, or by_clients than M/(k^(3/2) r tau C).
    """
    drawn, printed = [], []
    for (d, n, p, k, much), (steps, participants) in product(_sizes(), _ROUNDS):
        logs = much * (n / (p**1.5 * k * steps * participants) if by_clients else d)
        at = {"d": d, "M": n, "k": p, "r": k, "tau": steps, "C": participants,
              "log(1/eps)": logs, "much smaller": much}  # fmt: skip
        samples = _per_client(d, n, p, k, logs, steps, participants)
        drawn.append((samples, float(d), at))
        printed.append((_rounds(d, p, k, logs) * steps, float(d), at))
    return Readings(
        [
            Cases(drawn, quantity="|D_m|", name="rounds that m takes part in"),
            Cases(printed, quantity="|D_m|", name="all rounds, as C.1 defines it"),
        ],
        name="|D_m| <= d, by the rounds stated",
    )


def _measured_share(budget, rng, by_clients):
    """Yield whether |D_m| is below d for a long vector of items, at the best step size."""
    setting = cell(n=30, d=512, p=2, k=1, side="isometric", tau=1)
    logs = _MUCH[0] * (30 / 2**1.5 if by_clients else 512)
    count = budget(18, 40)
    shares = np.array([
        tuned_rounds(state_of(setting, rng), setting, rng) * logs / np.log(1e6) / 30 / 512
        for _ in range(count)
    ])  # fmt: skip
    yield Frequency(
        int(np.sum(shares > 1.0)), count, 0.5, quantity="share of runs with |D_m| > d",
        name="|D_m| <= d, measured",
        setting={"d": 512, "M": 30, "k": 2, "r": 1, "tau": 1, "C": 1, "log(1/eps)": logs},
    )  # fmt: skip
    yield Fact("median of |D_m|/d, measured at d = 512", np.median(shares))


def _along_sides(budget, rng):
    """Return rounds at tuned steps for k from 2 to 32, seeds in rows."""
    settings = [cell(p=value, k=1) for value in budget((2, 8, 32), (2, 4, 8, 16, 32))]
    return np.array([
        [tuned_rounds(state_of(setting, rng), setting, rng) for setting in settings]
        for _ in range(budget(10, 30))
    ])  # fmt: skip


@statement(
    "perfedsi.benefit",
    place="Section 3, after Theorem 3.3; C.1",
    latex=r"|D_m| = \tilde O(dk^{3/2}r/M); \quad |D_m| < d \text{ if } k^{3/2} \ll M/r; \quad"
    r" |D_m| \ll d \text{ as long as } \epsilon \gg e^{-d}",
    plain="Federation with side information takes fewer samples than clients alone, the fewer the "
    "smaller k.",
    negative_control={"k_power": 1.0},
    holds_with={"by_clients": True},
)
def benefit(budget, rng, *, k_power=1.5, by_clients=False):
    """Compare counts, and measure samples; by_clients: eps against exp(-M/(k^(3/2) r tau C))."""
    rounds = _along_sides(budget, rng)
    yield _against_local(k_power)
    yield _fewer_than_items(by_clients)
    yield from _measured_share(budget, rng, by_clients)
    yield Trend(rounds, name="rounds grow with k")
    yield along(
        "rounds", (50, 100, 200, 400), tuned_rounds, 0.0, budget(4, 160), rng, variable="M",
        settings=[cell(n=n) for n in (50, 100, 200, 400)],
    )  # fmt: skip
    for place, k in ((0, 2), (-1, 32)):
        yield Fact(f"median of the rounds at tuned steps, k = {k}", np.median(rounds[:, place]))


def _total(k_power) -> Readings:
    """Compare d k^(3/2) r with (d + M) r where k^(3/2) is much below M: for some d, for every d.

    Of the numbers of items tried the best one is taken for "some"; r cancels.
    """
    some, every = [], []
    for n, p, much in product(_CLIENTS, _SIDES, _MUCH):
        if p <= n and p**k_power <= much * n:
            found = []
            for d in (2, *_DIMENSIONS):
                at = {"d": d, "M": n, "k": p, "r": 1, "much smaller": much}
                found.append((_rounds(d, p, 1, 1.0), float(d + n), at))
            every += found
            some.append(min(found, key=lambda case: case[0] / case[1]))
    return Readings(
        [
            Cases(some, quantity="d k^(3/2)", name="it can, for some d"),
            Cases(every, quantity="d k^(3/2)", name="it does, whatever d"),
        ],
        name="d k^(3/2) r <= (d + M) r",
    )


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
    while high - low > max(1, low // 20):
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


@statement(
    "perfedsi.lower_bound",
    place="Section 3, after Theorem 3.3",
    latex=r"dk^{3/2}r \text{ samples \emph{can} improve on } \Omega((d + M)r)"
    r" \text{ when } k^{3/2} \ll M",
    plain="Side information can improve on the lower bound without it when k^(3/2) << M.",
    negative_control={"k_power": 0.5},
)
def lower_bound(budget, rng, *, k_power=1.5):
    """Compare counts, and the fewest entries that Gauss-Newton needs with the bound."""
    k = 2
    shapes = budget(((32, 8), (16, 16)), ((32, 8), (60, 60)))
    sides = budget((4, 16), (4, 8, 16))
    tables = [_recovery(budget(8, runs), rng, n, d, k, sides)
              for runs, (n, d) in zip((20, 18), shapes, strict=True)]  # fmt: skip
    ratios = [table[:, 0] / (k * (n + d)) for table, (n, d) in zip(tables, shapes, strict=True)]
    yield _total(k_power)
    yield Trend(tables[0], name="fewest entries grow with k")
    yield Readings(
        [
            Mean(ratios[0], at_most=1.0, quantity="mean of entries/((d + M) r)", name="M = 4 d"),
            Frequency(
                int(np.sum(ratios[1] > 1.0)), len(ratios[1]), 0.5, name="M = d",
                quantity="share of runs above (d + M) r",
                setting={"d = M": shapes[1][0], "k": 4, "r": k},
            ),
        ],
        name="entries needed with k = 4, over (d + M) r",
    )  # fmt: skip
    for (n, d), table in zip(shapes, tables, strict=True):
        middle = np.median(table, axis=0)
        yield Fact(f"median of the fewest entries, k = 4, d = {d}, M = {n}", middle[0])
        yield Fact(f"median of the fewest entries without Z, d = {d}, M = {n}", middle[-1])
        yield curve(
            panel=f"d = {d}, M = {n}, r = {k}", series="", x=[*sides, n], y=middle,
            predicted=[k * (d + p - k) for p in (*sides, n)],
            xlabel="k (M: without)", ylabel="fewest entries; predicted: parameters",
        )  # fmt: skip
