"""What Theorem 3.3 is said to gain: samples per client, and against lower bounds without Z."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isqrt

from linrep.claims import Cases, Fact, Readings, statement
from linrep.claims.evidence import ENUMERATED
from linrep.claims.laws import Open, Region, at_most, lines, measured
from linrep.papers.perfedsi.counterexamples.benefit import sides
from linrep.papers.perfedsi.counterexamples.lower_bound import sides as sides_of_totals
from linrep.papers.perfedsi.model import RANK, SMALL_RANK, whole
from linrep.papers.perfedsi.runs import cell, state_of, tuned_rounds

#: What "much smaller than" is read as, one after another.
LITTLE = (Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000))
SIZES = (10, 100, 1000, 10**4, 10**6)  # of items, and of clients
SIDES = (4, 9, 16, 25, 64, 225, 900)  # squares: their powers 3/2 are whole
RANKS = (1, 2, 5)
ROUNDS = ((1, 1), (5, 1), (30, 4))  # local steps and participants


def powered(p, power):
    """Return a square number to a power that is half of a whole one."""
    return isqrt(p) ** whole(2 * power)


def total(d, p, k, logs=1):
    """Return T = d k^(3/2) r log(1/eps), in the paper's letters, with constant 1."""
    return d * powered(p, 1.5) * k * logs


def settings(k_power=1.5):
    """Yield d, M, k, r with k^k_power much smaller than M/r, and how much."""
    for d, n, p, k, much in product(SIZES, SIZES, SIDES, RANKS, LITTLE):
        if k <= min(d, p) and p <= n and powered(p, k_power) <= much * n / k:
            at = {"d": d, "M": n, "k": p, "r": k, "much smaller": float(much)}
            yield d, n, p, k, much, at


def against_local(k_power):
    """Yield samples of a client, d where k^(3/2) is much below M/r: hidden factors in or not."""
    for d, n, p, k, _, at in settings(k_power):
        samples = Fraction(total(d, p, k)) / n
        yield "hidden factors left out", at_most(samples, Fraction(d)), at
        for logs, (steps, participants) in product((3, 14), ROUNDS):
            more = {"log(1/eps)": logs, "tau": steps, "C": participants}
            least = samples * logs * steps * participants
            yield "with log(1/eps) tau C", at_most(least, Fraction(d)), at | more


def against_items(by_clients):
    """Yield |D_m| against d where k^(3/2) is much below M/r and log(1/eps) below its limit.

    That is d, as printed, or by_clients M/(k^(3/2) r tau C).
    """
    drawn, every = "rounds that m takes part in", "all rounds, as C.1 defines it"
    if not by_clients:
        at = {"d": 1000, "M": 100, "k": 4, "r": 1, "tau": 1, "C": 1, "log(1/eps)": 100.0}
        yield drawn, at_most(*sides()), at
    for (d, n, p, k, much, at), (steps, participants) in product(settings(), ROUNDS):
        most = Fraction(n, powered(p, 1.5) * k * steps * participants) if by_clients else d
        samples = total(d, p, k, much * most) * steps
        at = at | {"tau": steps, "C": participants, "log(1/eps)": float(much * most)}
        yield drawn, at_most(Fraction(samples * participants) / n, Fraction(d)), at
        yield every, at_most(Fraction(samples), Fraction(d)), at


@statement(
    "perfedsi.benefit",
    place="Section 3, after Theorem 3.3; C.1",
    hypotheses=[RANK, SMALL_RANK],
    latex=r"|D_m| = \tilde O(dk^{3/2}r/M); \quad |D_m| < d \text{ if } k^{3/2} \ll M/r; \quad"
    r" |D_m| \ll d \text{ as long as } \epsilon \gg e^{-d}",
    plain="Federation with side information takes fewer samples than clients alone, and |D_m| << d "
    "as long as eps >> e^(-d).",
    negative_control={"k_power": 1.0},
    holds_with={"by_clients": True},
)
def benefit(budget, rng, *, k_power=1.5, by_clients=False):
    """Compare counts; by_clients: eps against exp(-M/(k^(3/2) r tau C))."""
    parts = list(measured(against_local(k_power), quantity="samples of a client").values())
    yield Readings(parts, name="samples below d", phrase="O with a tilde")
    parts = list(measured(against_items(by_clients), quantity="|D_m|").values())
    name = "|D_m| <= d, by the rounds stated"
    elsewhere = {"rounds that m takes part in": "Section 3, on average"}
    yield Readings(parts, name=name, phrase="D_m", printed_elsewhere=elsewhere)


# All clients' samples against (d + M) r.


@lines(
    "perfedsi.lower_bound.corrected",
    Region(
        d=(Open(0), None), root=(1, None), r=(Open(0), None),
        M=lambda d, root: (d * root**3, None),
    ),
    whole=True,
)  # fmt: skip
def counts(d, root, r, M):
    """Where d k^(3/2) <= M, d k^(3/2) r <= (d + M) r; root is that of k."""
    return at_most(d * root**3 * r, (d + M) * r)


def totals():
    """Yield d k^(3/2) r and (d + M) r, "much smaller" being by a factor of ten or more."""
    at = {"d": 1000, "M": 1000, "k": 4, "r": 1}
    both = at_most(Fraction(total(1000, 4, 1)), Fraction(2000))
    yield "whenever k^(3/2) << M", both, at
    at = {"d": 20, "M": 10_000, "k": 100, "r": 2}
    yield "at the smallest d that r << d allows", at_most(*sides_of_totals()), at


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
def lower_bound(budget, rng, *, k_power=1.5, printed=True):
    """Compare counts where k^(3/2) is much smaller than M, or, as corrected, d k^k_power at most M.

    "Can" is read as: at the smallest d that r << d allows.
    """
    if printed:
        yield Readings(
            list(measured(totals(), quantity="d k^(3/2) r").values()),
            name="d k^(3/2) r <= (d + M) r",
            phrase="can improve",
        )
        # What federated averaging takes is another question.
        setting = cell(n=64, d=64)
        rounds = tuned_rounds(state_of(setting, rng), setting, rng)
        yield Fact(
            "fresh samples of federated averaging to 1e-6 over (d + M) r, k = 4, d = M = 64",
            rounds * setting["tau"] * setting["C"] / (setting["k"] * 128),
        )
        return
    name = "d k^(3/2) r <= (d + M) r whenever d k^(3/2) <= M"
    if k_power == 1.5:
        yield replace(counts.measure(), quantity="d k^(3/2) r", name=name)
        return
    cases = [
        (Fraction(total(d, p, k)), Fraction((d + n) * k), {"d": d, "M": n, "k": p, "r": k})
        for n, d, p, k in product(SIZES, SIZES, SIDES, RANKS)
        if powered(p, k_power) * d <= n and k <= min(d, p)
    ]
    yield Cases(cases, quantity="d k^(3/2) r", name=name)


lower_bound.corrected(
    "perfedsi.lower_bound.corrected",
    latex=r"dk^{3/2} \le M \Rightarrow dk^{3/2}r \le (d + M)r",
    plain="The samples that Theorem 3.3 asks for are below (d + M) r when d k^(3/2) is at most M.",
    constants={"printed": False},
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
