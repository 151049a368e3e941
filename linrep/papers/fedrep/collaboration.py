"""Section 1 (I)-(II) and Section 4.2: who needs how many samples, with and without federation.

What is measured is the fewest samples from which a model can be had exactly, labels being free of
noise. Covariates are Gaussian.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

import linrep as lr
from linrep.claims import Cases, Exponent, Threshold, Together, statement
from linrep.claims.evidence import PROVED, UPPER
from linrep.claims.laws import at_most, measured
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep.model import GAUSSIAN, read_as, run
from linrep.stats import transition_point

#: Exponents so near count as equal: m is a whole number, its smallest value known to a bracket.
MARGIN = 0.25
#: Equations over unknowns, n(m - k)/(k(d - k)), at which FedRep is run.
RATIOS = (0.75, 0.95, 1.1, 1.25, 1.4, 1.6, 2.0, 3.0)


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
    """Count equations alone and with B* known, and run FedRep on fixed data in a federation.

    Section 1 has O(d/n + log n) as well as Theta; the latter is `fedrep.fedhelps.theta`.
    """
    yield counted("local", local_power)
    yield counted("new client", head_power)
    wide = budget((18, 42, 98), (18, 34, 66, 130), (18, 34, 66, 130, 258))
    many = budget((2, 4, 16), (2, 4, 8, 16), (2, 4, 8, 16, 32))
    for along, sizes, cells, power in (
        ("d - k", [d - 2 for d in wide], [(4, d) for d in wide], shared_power),
        ("n", many, [(n, budget(66, 130, 258)) for n in many], -shared_power),
    ):
        trials, rounds = budget((5, 500), (8, 800), (30, 2000))
        found = [transition(n, d, 2, trials, rounds, rng) for n, d in cells]
        points, runs = zip(*found, strict=True)
        yield Threshold(
            sizes, points, margin=MARGIN, runs=sum(runs), along=along, of="m - k",
            name=f"federation along {along}", at_most=float(power),
        )  # fmt: skip
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
    """Compare both rates with d, which is necessary and sufficient by counting equations."""
    large = (("no constant up to 1000 will do", *large_both(bits)) for bits in (14, 16, 20))
    (federated,) = measured(large, quantity="samples needed", predicted_is=UPPER).values()
    parts = {"d/n + log n": replace(federated, name="d/n + log n"), "d": counted("d", power)}
    yield read_as(
        [parts[rate] for rate in rates],
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


def counted(name, power, *, suffices=True, bits=400):
    """Return samples by counting unknowns, 2^bits, over 1000 times their power, and vice versa.

    A label is one equation: with one sample fewer than unknowns almost every model has others with
    the same labels. Independent samples determine one model: they suffice.
    """
    unknowns, exponent = Fraction(2**bits), bits * Fraction(power)
    at = {"unknowns of a client": f"2^{bits}", "constant": 1000, "found by": "counting equations"}
    cases = [(unknowns / (1000 * Fraction(2) ** math.ceil(exponent)), 1, at)]
    if suffices:
        cases.append((Fraction(2) ** math.floor(exponent) / (1000 * unknowns), 1, at))
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
    return round(float(np.polyfit(np.log(x), np.log(y), 1)[0]), 12) + 0.0


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
    logarithms = np.log(n)
    power = fitted(logarithms, (small / np.array(n)) ** ratio_power + logarithms**log_power)

    def fewest(n, d):
        """Return the fewest m times rounds to 1e-3 of the start, over m - k up to k (d/n + 1)."""
        found = []
        for _ in range(runs):
            totals = []
            for multiple in np.geomspace(0.1, 1.6, 6) * 1.5 ** rng.uniform():
                m = k + max(1, round(multiple * k * (d / n + 1.0)))
                options = {"n": n, "d": d, "k": k, "condition": 1.0, "rounds": 70}
                distances, _ = run(rng, m, tolerance=5e-4, **options)
                reached = np.flatnonzero(distances <= 5e-4)
                totals.append(m * reached[0] if reached.size else math.inf)
            found.append(min(totals))
        return np.array(found)

    lines = [
        (name, x, [fewest(*cell) for cell in cells], claimed, cells)
        for name, x, cells, claimed in (
            ("d, n = 20", d, [(20, size) for size in d], ratio_power),
            (f"log n, d = {small}", logarithms, [(size, small) for size in n], power),
        )
    ]

    def order(form):
        relation = "equals" if form == "Theta" else "at_most"
        parts: list[Any] = [
            Exponent(
                x, samples, **{relation: claimed}, margin=MARGIN, along=name,
                of="samples per client to 1e-3 of the distance", name=f"samples along {name}",
                setting={"k": k, "(n, d)": cells},
            )
            for name, x, samples, claimed, cells in lines
        ]  # fmt: skip
        if form == "Theta":
            parts.append(counted("federation", ratio_power, suffices=False))
        return Together(parts, name=form)

    elsewhere = {"O": "Section 1, contribution (ii)"}
    yield read_as(list(map(order, forms)), name="order", printed_elsewhere=elsewhere)


theta.corrected(
    "fedrep.fedhelps.theta.corrected",
    latex=r"m_{\text{shared}} = \Theta(d/n + 1)",
    plain="In a federation a client needs of the order of d/n samples, and a few however large n "
    "is.",
    constants={"log_power": 0.0, "forms": ("Theta",)},
    stronger={"ratio_power": 0},
    negative_control={"log_power": 1.0},
)


def transition(n, d, k, trials, rounds, rng):
    """Return the m - k from which FedRep on fixed data recovers B* in half of its runs, and these.

    Heads of condition number 1, exact heads in each round, the theorem's step size, a start at
    distance 1/2.
    """
    excesses = sorted({max(1, round(ratio * k * (d - k) / n)) for ratio in RATIOS})
    won = [0] * len(excesses)
    for place, excess in enumerate(excesses):
        for seed in draw_seeds(rng, trials):
            truth = lr.SharedRepresentation.random(n=n, d=d, k=k, condition=1.0, rng=seed)
            trace = lr.fedrep(
                truth, m=k + excess, batches="fixed", rounds=rounds, start=0.5, tolerance=1e-4,
                rng=seed,
            )  # fmt: skip
            won[place] += trace.stop_reason == "converged"
    return transition_point(excesses, won, trials), trials * len(excesses)
