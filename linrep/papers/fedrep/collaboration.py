"""Section 1 (I)-(II) and Section 4.2: who needs how many samples, with and without federation.

What is measured is the fewest samples from which a model can be had exactly, labels being free of
noise. Covariates are Gaussian.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import linrep as lr
from linrep.claims import (
    Cases,
    Exponent,
    Frequency,
    Readings,
    Threshold,
    Together,
    statement,
)
from linrep.claims.evidence import PROVED, UPPER
from linrep.claims.laws import at_most, measured
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep.model import GAUSSIAN, fewest_samples, read_as
from linrep.stats import transition_point

#: Exponents so near count as equal: m is a whole number, its smallest value known to a bracket.
MARGIN = 0.25
#: Equations over unknowns, n(m - k)/(k(d - k)), at which FedRep is run.
RATIOS = (0.75, 0.95, 1.1, 1.25, 1.4, 1.6, 2.0, 3.0)


@dataclass(frozen=True)
class Recovery:
    """Runs of FedRep on fixed data that recovered B*, out of `trials`, by m - k."""

    excess: list[int]
    won: list[int]
    trials: int
    unit: float  # m - k at which equations equal unknowns

    @property
    def found(self):
        """Where half of the runs recover it, and the number of runs."""
        point = transition_point(self.excess, self.won, self.trials)
        return point, self.trials * len(self.excess)

    def count(self, low, high=math.inf):
        """Return the successes and runs at ratios of equations to unknowns from low to high."""
        both = zip(self.excess, self.won, strict=True)
        won = [won for excess, won in both if low <= excess / self.unit < high]
        return np.array([sum(won), self.trials * len(won)])


@statement(
    "fedrep.fedhelps",
    place="Section 1, contribution (ii), (I)-(II); Section 4.2",
    latex=r"m_{\text{shared}} = O(d/n + \log n), \qquad m_{\text{local}} = \Theta(d), \qquad "
    r"m_{\text{new}} = \Theta(k), \qquad 1 \ll n \ll e^{\Theta(d)}",
    plain="A client needs at most of the order of d/n + log n samples in a federation, d alone, "
    "and k if the representation has already been learned.",
    hypotheses=[GAUSSIAN],
    stronger={"shared_power": -1, "local_power": 0, "head_power": 0},
    negative_control={"head_power": 2},
)
def fedhelps(budget, rng, *, shared_power=1, local_power=1, head_power=1):
    """Compare smallest sufficient m with powers of d, n, k.

    Section 1 has O(d/n + log n) as well as Theta; the latter is `fedrep.fedhelps.theta`.
    """
    dimensions, ranks = (10, 20, 40, 80), (8, 16, 32, 64)
    trials, rounds = budget((5, 500), (8, 800), (30, 2000))
    wide = budget((18, 42, 98), (18, 34, 66, 130), (18, 34, 66, 130, 258))
    many = budget((2, 4, 16), (2, 4, 8, 16), (2, 4, 8, 16, 32))
    along_d = [together(4, d, 2, trials, rounds, rng) for d in wide]
    along_n = [together(n, budget(66, 130, 258), 2, trials, rounds, rng) for n in many]
    rooms = tuple(d - 2 for d in wide)
    for line in (
        ("local", "d", dimensions, [alone(64, d, rng) for d in dimensions], local_power),
        ("new client", "k", ranks, [new(k, 128, rng) for k in ranks], head_power),
        ("new client", "d", dimensions[1:], [new(8, d, rng) for d in dimensions[1:]], 0),
        ("federation", "d - k", rooms, [each.found for each in along_d], shared_power),
        ("federation", "n", many, [each.found for each in along_n], -shared_power),
    ):
        yield threshold(*line)
    yield counted("local", local_power)
    yield counted("new client", head_power)
    # B* is had if n(m - k) is above k(d - k), not below; less than a quarter of runs may be
    # exceptions, below and from twice as many equations on.
    won, runs = sum(each.count(0.0, 1.0) for each in [*along_d, *along_n])
    yield Frequency(int(won), int(runs), 0.25, name="fewer equations: success")
    won, runs = sum(each.count(2.0) for each in [*along_d, *along_n])
    yield Frequency(int(runs - won), int(runs), 0.25, name="twice as many equations: failure")
    cases = [
        ((d / n + np.log(n)) / d, 1.0, {"d": d, "n": float(n)})
        for d in (3, 10, 100, 1000)
        for n in (2.0, *np.exp(np.linspace(0.7, d / 2.0, 50)))
    ]
    yield Cases(cases, quantity="(d/n + log n)/d", name="n from 2 to exp(d/2)")


@statement(
    "fedrep.fedhelps.single_client",
    place="Section 4.2, against Section 1 (I)",
    latex=r"m_{\text{single client, no collaboration}} = \Theta(d/n + \log n)",
    plain="A single client without collaboration needs of the order of d/n + log n samples.",
    hypotheses=[GAUSSIAN],
    negative_control={"power": 2},
)
def single_client(budget, rng, *, rates=("d/n + log n", "d"), power=1):
    """Compare its smallest sufficient m along n and d with powers that the rates have there.

    With d - 1 samples two models have the same labels.
    """
    n, d = budget((1, 4, 16), (1, 4, 16, 64)), (10, 20, 40, 80)
    lines = {"n": (n, [alone(size, 40, rng) for size in n])}
    lines["d"] = d, [alone(16, size, rng) for size in d]

    def against(rate):
        for name, (sizes, found) in lines.items():
            x = np.array(sizes, dtype=float)
            n, d = (x, 40.0) if name == "n" else (16.0, x)
            own = d**power + 0.0 * n
            claimed = own if rate == "d" else own / n + np.log(n)
            yield threshold("alone", name, sizes, found, fitted(x, claimed))
        if rate == "d":
            yield counted("alone", power)
        elif power == 1:
            large = (("no constant up to 1000 will do", *large_both(bits)) for bits in (14, 16, 20))
            yield from measured(large, quantity="samples needed", predicted_is=UPPER).values()

    yield read_as(
        [Together(against(rate), name=rate) for rate in rates],
        name="rate",
        phrase="for a single client with no collaboration",
        printed_elsewhere={"d": "Section 1 (I)"},
    )


def large_both(bits, constant=1000):
    """Return the samples of one client, d, against a constant times d/n + log n, d = n = 2^bits.

    log n = bits log 2 is below `bits`.
    """
    d = n = 2**bits
    at = {"d": d, "n": n, "constant": constant}
    return at_most(Fraction(d), constant * (Fraction(d, n) + bits)), at


def counted(who, power, *, suffices=True, bits=400):
    """Return samples by counting unknowns, 2^bits, over 1000 times their power, and vice versa.

    A label is one equation: with one sample fewer than unknowns almost every model has others with
    the same labels. Independent samples determine one model: they suffice.
    """
    unknowns, exponent = Fraction(2**bits), bits * Fraction(power)
    at = {"unknowns of a client": f"2^{bits}", "constant": 1000}
    cases = [(unknowns / (1000 * Fraction(2) ** math.ceil(exponent)), 1, at)]
    if suffices:
        cases.append((Fraction(2) ** math.floor(exponent) / (1000 * unknowns), 1, at))
    name = f"{who}: the order of its unknowns, by counting equations"
    quantity = "samples, over 1000 times what is claimed, and the reverse"
    return Cases(cases, name=name, quantity=quantity, strength=PROVED)


single_client.corrected(
    "fedrep.fedhelps.single_client.corrected",
    latex=r"m_{\text{single client, no collaboration}} = \Theta(d)",
    plain="A single client without collaboration needs of the order of d samples, whatever n.",
    constants={"rates": ("d",)},
    stronger={"power": 0},
    negative_control={"rates": ("d/n + log n",)},
)


def fitted(x, y):
    """Return the exponent of the power law that is nearest to y, in logarithms."""
    y = np.broadcast_to(y, np.shape(x))
    return round(float(np.polyfit(np.log(x), np.log(y), 1)[0]), 12) + 0.0


# The order of d/n + log n.


@statement(
    "fedrep.fedhelps.theta",
    place="Section 1 (I)",
    latex=r"m_{\text{shared}} = \Theta(d/n + \log n)",
    plain="In a federation a client needs at least of the order of d/n + log n samples.",
    hypotheses=[GAUSSIAN],
    negative_control={"ratio_power": 0.5},
)
def theta(budget, rng, *, ratio_power=1.0, log_power=1.0, forms=("Theta", "O")):
    """Follow the samples that a client spends along d >> n, and along log n for d << n < e^d.

    By counting it needs 1/n of the unknowns at least, which is above k d/n. With Theta, which is
    printed here, the powers are these; with O they are at most these.
    """
    runs, k, d, small = budget(20, 20, 40), 2, (2000, 8000, 32000), 12
    n = budget((300, 1000, 3000), (700, 3000, 12000))  # far above d, below e^d = 162755
    crowd = np.array(n, dtype=float)
    logarithms = np.log(crowd)
    power = fitted(logarithms, (small / crowd) ** ratio_power + logarithms**log_power)

    def fewest(n, d):  # m is tried from k + 1 to some multiples of k (d/n + 1)
        cell, unit = {"n": n, "d": d, "k": k, "condition": 1.0, "start": 0.5}, k * (d / n + 1.0)
        return fewest_samples(
            rng, runs, 6, lambda multiple: k + max(1, round(multiple * unit)), 70, **cell
        )

    lines = [
        (name, x, [fewest(*cell) for cell in cells], claimed, cells)
        for name, x, cells, claimed in (
            ("d, n = 20", d, [(20, size) for size in d], ratio_power),
            (f"log n, d = {small}", logarithms, [(size, small) for size in n], power),
        )
    ]
    readings = []
    for form in forms:
        parts: list[Any] = [
            Exponent(
                x, samples, **{"equals" if form == "Theta" else "at_most": claimed}, margin=MARGIN,
                along=name, of="samples per client to 1e-3 of the distance",
                name=f"samples along {name}", setting={"k": k, "(n, d)": cells},
            )
            for name, x, samples, claimed, cells in lines
        ]  # fmt: skip
        if form == "Theta":
            parts.append(counted("federation", ratio_power, suffices=False))
        readings.append(Together(parts, name=form))
    elsewhere = {"O": "Section 1, contribution (ii)"} if len(forms) > 1 else {}
    yield Readings(readings, name="order", printed_elsewhere=elsewhere)


theta.corrected(
    "fedrep.fedhelps.theta.corrected",
    latex=r"m_{\text{shared}} = \Theta(d/n + 1)",
    plain="In a federation a client needs of the order of d/n samples, and a few however large n "
    "is.",
    constants={"log_power": 0.0, "forms": ("Theta",)},
    stronger={"ratio_power": 0},
    negative_control={"log_power": 1.0},
)


# What is measured.


def alone(n, d, rng):
    """Return where local training of n clients begins to recover their models."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=1, rng=rng)

    def recovered(m):
        return lr.local_only(truth.draw(m, rng=rng)).state["theta"], truth.theta

    return transition((d // 2, d - 1, d, d + 1, 2 * d), recovered)


def new(k, d, rng):
    """Return where clients that know B* begin to recover their models."""
    truth = lr.SharedRepresentation.random(n=max(k, 16), d=d, k=k, rng=rng)

    def recovered(m):
        return lr.fit_heads(truth.draw(m, rng=rng), truth.B), truth.W

    return transition((k // 2, k - 1, k, k + 1, 2 * k), recovered)


def transition(samples, recovered):
    """Return the transition of the share of clients that are recovered, and their number."""
    won = []
    for m in samples:
        found, true = recovered(m)
        errors = np.sum((found - true) ** 2, axis=1) / np.sum(true**2, axis=1)
        won.append(np.sum(errors < 1e-8))
    return transition_point(samples, won, len(true)), len(samples) * len(true)


def together(n, d, k, trials, rounds, rng):
    """Run FedRep on fixed data at several m and return how often it recovers B*.

    Heads of condition number 1, exact heads in each round, the theorem's step size, a start at
    distance 1/2.
    """
    unit, won = k * (d - k) / n, []
    excesses = sorted({max(1, round(ratio * unit)) for ratio in RATIOS})
    for excess in excesses:
        reached = 0
        for seed in draw_seeds(rng, trials):
            truth = lr.SharedRepresentation.random(n=n, d=d, k=k, condition=1.0, rng=seed)
            trace = lr.fedrep(
                truth, m=k + excess, batches="fixed", rounds=rounds, start=0.5, tolerance=1e-4,
                rng=seed,
            )  # fmt: skip
            reached += trace.stop_reason == "converged"
        won.append(reached)
    return Recovery(excesses, won, trials, unit)


def threshold(name, variable, sizes, found, power):
    """Return the line of transitions that come with their numbers of trials.

    For a federation the power is that of an upper bound, and the size m - k.
    """
    points, trials = zip(*found, strict=True)
    bound = name == "federation"
    claimed: dict[str, Any] = {"at_most" if bound else "equals": float(power)}
    return Threshold(
        sizes, points, margin=MARGIN, runs=sum(trials), along=variable,
        of="m - k" if bound else "smallest sufficient m", name=f"{name} along {variable}",
        **claimed,
    )  # fmt: skip
