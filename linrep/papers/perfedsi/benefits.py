"""What Theorem 3.3 is said to gain: samples per client, and against lower bounds without Z."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np

from linrep.algorithms import imc
from linrep.claims import Cases, Fact, Frequency, Readings, Trend, statement
from linrep.claims.evidence import ENUMERATED, PROVED
from linrep.claims.tables import curve
from linrep.papers.perfedsi._enumeration import whole
from linrep.papers.perfedsi._hypotheses import RANK, SMALL_RANK
from linrep.papers.perfedsi._runs import along, cell, state_of, tuned_rounds
from linrep.papers.perfedsi.counterexamples.benefit import sides
from linrep.papers.perfedsi.counterexamples.lower_bound import sides as sides_of_totals
from linrep.problems import Observations, SideInformationCompletion

#: What "much smaller than" is read as, one after another.
_MUCH = (Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000))
_DIMENSIONS = (10, 100, 1000, 10**4, 10**6)
_CLIENTS = (10, 100, 1000, 10**4, 10**6)
_SIDES = (4, 9, 16, 25, 64, 225, 900)  # squares: their powers 3/2 are whole
_RANKS = (1, 2, 5)
_ROUNDS = ((1, 1), (5, 1), (30, 4))  # local steps and participants
_EXACT = 1e-6


def _power(p, power):
    """Return a square number to a power that is half of a whole one."""
    return isqrt(p) ** whole(2 * power)


def _sizes(k_power=1.5):
    """Yield d, M, k, r with k^k_power much smaller than M/r, and how much."""
    for d, n, p, k in product(_DIMENSIONS, _CLIENTS, _SIDES, _RANKS):
        for much in _MUCH:
            if k <= min(d, p) and p <= n and _power(p, k_power) <= much * n / k:
                yield d, n, p, k, much


def _rounds(d, p, k, logs):
    """Return T = d k^(3/2) r log(1/eps), in the paper's letters, with constant 1."""
    return d * _power(p, 1.5) * k * logs


def _per_client(d, n, p, k, logs, steps=1, participants=1) -> Fraction:
    """Return the samples of a client in so many rounds, in the mean over who participates."""
    return Fraction(_rounds(d, p, k, logs) * participants * steps) / n


def _against_local(k_power) -> Readings:
    """Compare samples with d where k^(3/2) is much below M/r, hidden factors in or not."""
    bare, whole = [], []
    for d, n, p, k, much in _sizes(k_power):
        at = {"d": d, "M": n, "k": p, "r": k, "much smaller": float(much)}
        bare.append((_per_client(d, n, p, k, 1), Fraction(d), at))
        for logs, (steps, participants) in product((3, 14), _ROUNDS):
            more = {"log(1/eps)": logs, "tau": steps, "C": participants}
            samples = _per_client(d, n, p, k, logs, steps, participants)
            whole.append((samples, Fraction(d), at | more))
    return Readings(
        [
            Cases(bare, quantity="samples of a client", name="hidden factors left out"),
            Cases(whole, quantity="samples of a client", name="with log(1/eps) tau C"),
        ],
        name="samples below d",
        phrase="O with a tilde",
    )


def _fewer_than_items(by_clients) -> Readings:
    """Compare |D_m| with d wherever eps is as said and k^(3/2) much below M/r, in both readings.

    log(1/eps) is much smaller than d, as printed, or by_clients than M/(k^(3/2) r tau C).
    """
    at = {"d": 1000, "M": 100, "k": 4, "r": 1, "tau": 1, "C": 1, "log(1/eps)": 100.0}
    drawn, printed = ([], []) if by_clients else ([(*sides(), at)], [])
    for (d, n, p, k, much), (steps, participants) in product(_sizes(), _ROUNDS):
        limit = Fraction(n, _power(p, 1.5) * k * steps * participants) if by_clients else d
        logs = much * limit
        at = {
            "d": d,
            "M": n,
            "k": p,
            "r": k,
            "tau": steps,
            "C": participants,
            "log(1/eps)": float(logs),
            "much smaller": float(much),
        }
        samples = _per_client(d, n, p, k, logs, steps, participants)
        drawn.append((samples, Fraction(d), at))
        printed.append((Fraction(_rounds(d, p, k, logs) * steps), Fraction(d), at))
    return Readings(
        [
            Cases(drawn, quantity="|D_m|", name="rounds that m takes part in"),
            Cases(printed, quantity="|D_m|", name="all rounds, as C.1 defines it"),
        ],
        name="|D_m| <= d, by the rounds stated",
        phrase="D_m",
        printed_elsewhere={"rounds that m takes part in": "Section 3, on average"},
    )


def _measured_share(budget, rng, by_clients):
    """Yield whether |D_m| is below d for a long vector of items, at the best step size."""
    setting = cell(n=30, d=512, p=2, k=1, side="isometric", tau=1)
    logs = float(_MUCH[0]) * (30 / 2**1.5 if by_clients else 512)
    count = budget(18, 40)
    shares = np.array(
        [
            tuned_rounds(state_of(setting, rng), setting, rng) * logs / np.log(1e6) / 30 / 512
            for _ in range(count)
        ]
    )
    yield Frequency(
        int(np.sum(shares > 1.0)),
        count,
        0.5,
        quantity="share of runs with |D_m| > d",
        name="|D_m| <= d, measured",
        setting={"d": 512, "M": 30, "k": 2, "r": 1, "tau": 1, "C": 1, "log(1/eps)": logs},
    )
    yield Fact("median of |D_m|/d, measured at d = 512", np.median(shares))


def _along_sides(budget, rng):
    """Return rounds at tuned steps for k from 2 to 32, seeds in rows."""
    settings = [cell(p=value, k=1) for value in budget((2, 8, 32), (2, 4, 8, 16, 32))]
    return np.array(
        [
            [tuned_rounds(state_of(setting, rng), setting, rng) for setting in settings]
            for _ in range(budget(10, 30))
        ]
    )


@statement(
    "perfedsi.benefit",
    place="Section 3, after Theorem 3.3; C.1",
    hypotheses=[RANK, SMALL_RANK],
    latex=r"|D_m| = \tilde O(dk^{3/2}r/M); \quad |D_m| < d \text{ if } k^{3/2} \ll M/r; \quad"
    r" |D_m| \ll d \text{ as long as } \epsilon \gg e^{-d}",
    plain="Federation with side information takes fewer samples than clients alone, the fewer the "
    "smaller k, and |D_m| << d as long as eps >> e^(-d).",
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
        "rounds",
        (50, 100, 200, 400),
        tuned_rounds,
        0.0,
        budget(4, 160),
        rng,
        variable="M",
        settings=[cell(n=n) for n in (50, 100, 200, 400)],
    )
    for place, k in ((0, 2), (-1, 32)):
        middle = np.median(rounds[:, place])
        yield Fact("median of the rounds at tuned steps", middle, setting={"k": k})


def _totals(by_items, k_power) -> Readings:
    """Compare d k^(3/2) r with (d + M) r where k^(3/2) is much below M, and r below d and M.

    By items it is d k^(3/2) that is at most M. "Can" is read as: at the smallest d that r << d
    allows. All of "much smaller" is by one factor.
    """
    every, some = [], []
    for n, p, k, much in product(_CLIENTS, _SIDES, _RANKS, _MUCH):
        smallest = int(k / much)
        for d in (smallest, *(d for d in _DIMENSIONS if d > smallest), n):
            left = d * _power(p, k_power) if by_items else _power(p, k_power)
            inside = left <= (n if by_items else much * n)
            if not inside or not k <= p <= n or k > much * min(d, n):
                continue
            at = {"d": d, "M": n, "k": p, "r": k, "much smaller": float(much)}
            found = (Fraction(_rounds(d, p, k, 1)), Fraction((d + n) * k), at)
            every.append(found)
            if d == smallest:
                some.append(found)
    if not by_items:  # numbers that are easily compared
        at = {"d": 20, "M": 10_000, "k": 100, "r": 2, "much smaller": 0.1}
        some.append((*sides_of_totals(), at))
    strength = PROVED if by_items else ""
    condition = f"whenever {'d ' if by_items else ''}k^(3/2) {'<=' if by_items else '<<'} M"
    return Readings(
        [
            Cases(every, quantity="d k^(3/2) r", name=condition, strength=strength),
            Cases(some, quantity="d k^(3/2) r", name="at the smallest d that r << d allows"),
        ],
        name="d k^(3/2) r <= (d + M) r",
        phrase="can improve",
    )


def _fewest(truth, order, with_side) -> int:
    """Return the fewest of the entries in an order from which Gauss-Newton finds the matrix."""
    items, clients = order
    values = truth.entries(items, clients)

    def found(count):
        seen = Observations(
            items[:count],
            clients[:count],
            values[:count],
            truth.Z if with_side else None,
            n=truth.n,
            d=truth.d,
            truth=truth,
        )
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
    hypotheses=[RANK, SMALL_RANK],
    latex=r"dk^{3/2}r \text{ samples improve on } \Omega((d + M)r) \text{ when } k^{3/2} \ll M"
    r"\quad (r \ll \min(d, M))",
    plain="With side information the samples that Theorem 3.3 asks for are below the lower bound "
    "without it when k^(3/2) << M.",
    negative_control={"k_power": 1.0},
)
def lower_bound(budget, rng, *, by_items=False, k_power=1.5):
    """Compare counts: dk^(3/2)r of all clients against (d + M) r.

    What entries carry is another question, which other solvers answer: a fact decides nothing.
    """
    yield _totals(by_items, k_power)
    k, runs = 2, budget(2, 12)
    sides = budget((4, 16), (4, 8, 16))
    for n, d in budget(((32, 8),), ((32, 8), (60, 60))):
        middle = np.median(_recovery(runs, rng, n, d, k, sides), axis=0)
        yield Fact(
            "fewest entries of Gauss-Newton over (d + M) r",
            middle[0] / (k * (n + d)),
            setting={"k": 4, "d": d, "M": n},
        )
        yield Fact(
            "the same without side information",
            middle[-1] / (k * (n + d)),
            setting={"d": d, "M": n},
        )
        yield curve(
            panel=f"d = {d}, M = {n}, r = {k}",
            series="",
            x=[*sides, n],
            y=middle,
            predicted=[k * (d + p - k) for p in (*sides, n)],
            xlabel="k (M: without)",
            ylabel="fewest entries; predicted: parameters",
        )
    setting = cell(n=64, d=64)
    rounds = tuned_rounds(state_of(setting, rng), setting, rng)
    yield Fact(
        "fresh samples of federated averaging to 1e-6 over (d + M) r, k = 4, d = M = 64",
        rounds * setting["tau"] * setting["C"] / (setting["k"] * 128),
    )


lower_bound.corrected(
    "perfedsi.lower_bound.corrected",
    latex=r"dk^{3/2} \le M \Rightarrow dk^{3/2}r \le (d + M)r",
    plain="The samples that Theorem 3.3 asks for are below (d + M) r when d k^(3/2) is at most M.",
    constants={"by_items": True},
    negative_control={"k_power": 1.0},
    stronger={"k_power": -1},
)


@statement(
    "perfedsi.samples_per_round",
    place="Section 3, after Theorem 3.3",
    latex=r"\mathbb E[\text{samples of a client in a round}] = C\tau/M = O(\tau/M)",
    plain="With a constant number C of participants a client draws O(tau/M) samples per round on "
    "average.",
    negative_control={"clients_power": 2},
    stronger={"clients_power": 1},
)
def samples_per_round(budget, rng, *, clients_power=1):
    """Enumerate the participants of a round, drawn with replacement as in Assumption C.1.

    The constant is C: client 0 takes part as often as it is drawn, for tau samples each time.
    """
    cases = []
    for n, drawn, steps in product(range(1, budget(5, 8)), (1, 2, 3), (1, 5, 30)):
        rounds = list(product(range(n), repeat=drawn))
        mean = Fraction(steps * sum(each.count(0) for each in rounds), len(rounds))
        at = {"M": n, "C": drawn, "tau": steps}
        cases.append((mean, Fraction(drawn * steps) / n**clients_power, at))
    yield Cases(cases, quantity="mean number of samples", name="C tau/M", strength=ENUMERATED)
