"""What Section 5 says of Tables 1 and 2, judged on the accuracies that they print."""

from __future__ import annotations

from fractions import Fraction

from linrep.claims import Cases, Fact, Readings, statement
from linrep.claims.evidence import ENUMERATED, FAILS
from linrep.papers.pflmf import model

#: Per cent, columns: MNIST, CIFAR10 and CIFAR100, each at Dir(0.5) and Dir(1).
COLUMNS = ("MNIST, 0.5", "MNIST, 1", "CIFAR10, 0.5", "CIFAR10, 1", "CIFAR100, 0.5", "CIFAR100, 1")
OTHERS = {
    "Local": ("92.12", "89.15", "59.14", "48.53", "16.09", "10.66"),
    "FedAvg": ("96.92", "97.01", "65.21", "65.44", "28.30", "28.36"),
    "FedPer": ("96.30", "95.16", "66.86", "58.25", "19.98", "14.22"),
    "FedRep": ("95.04", "93.33", "65.16", "55.4", "17.49", "12.14"),
    "APFL": ("97.93", "97.64", "65.99", "65.14", "27.07", "27.07"),
    "CFL": ("96.92", "97.04", "64.97", "65.98", "27.02", "24.84"),
    "FLUTE": ("76.72", "73.25", "48.20", "40.59", "12.58", "7.28"),
    "FedAlt": ("98.09", "97.91", "62.89", "58.09", "20.57", "16.20"),
    "FedAS": ("97.17", "97.11", "66.33", "63.80", "8.48", "5.12"),
    "pFedFDA": ("97.23", "97.05", "70.65", "66.67", "26.15", "19.10"),
}
RANKS = {
    1: ("96.75", "96.53", "43.89", "64.03", "34.32", "35.24"),
    5: ("96.78", "96.55", "60.73", "65.89", "35.64", "35.75"),
    10: ("96.98", "96.84", "65.10", "67.68", "35.28", "36.84"),
    15: ("98.24", "97.93", "68.13", "65.88", "35.70", "36.12"),
}
#: Per cent: permuted labels, super groups, and FEMNIST with 1 and with 5 local epochs.
GROUPS = ("permuted MNIST", "CIFAR100 super groups")
SECOND_OTHERS = {
    "Local": ("25.36", "10.49", "50.77", "65.69"),
    "FedAvg": ("12.02", "36.40", "65.40", "77.19"),
    "FedPer": ("19.86", "14.80", "66.05", "67.72"),
    "FedRep": ("21.30", "12.18", "66.10", "66.29"),
}
SECOND_RANKS = {
    1: ("14.70", "42.94", "67.82", "71.42"),
    5: ("23.75", "44.70", "69.99", "72.09"),
    10: ("34.23", "45.57", "72.56", "72.47"),
    15: ("39.31", "45.43", "73.59", "76.41"),
}


def exactly(table: dict) -> dict:
    """Return a table in rational numbers."""
    return {name: [Fraction(each) for each in row] for name, row in table.items()}


def most(name, wins: int, cases: int, share: Fraction, where) -> Cases:
    """Return whether pFL^MF is ahead in more than a share of the cases."""
    at = {"cases": cases, "pFL^MF ahead": wins, "behind in": where}
    return Cases(
        [(share * cases + Fraction(1, 10**6), Fraction(wins), at)],
        name=name,
        quantity="number of cases needed",
        strength=ENUMERATED,
    )


@statement(
    "pflmf.table1",
    place="Section 5, Observations, on Table 1",
    latex=r"\text{pFL}^{\text{MF}}\text{ outperforms other pFL methods in most cases}",
    plain="In Table 1 pFL^MF has a higher accuracy than other pFL methods in most cases.",
    negative_control={"share": 0.99},
    stronger={"share": 1},
)
def table1(budget, rng, *, share=0.5):
    """Count, in the printed accuracies, columns won and pairs of column and method won.

    With the best rank of every column, or with r = 15 throughout; `share` is what "most" exceeds.
    """
    ranks, others = exactly(RANKS), exactly(OTHERS)
    rivals = {name: row for name, row in others.items() if name not in ("Local", "FedAvg")}
    best = [max(row[j] for row in ranks.values()) for j in range(len(COLUMNS))]
    part = model.rational(share)
    readings = []
    for label, ours in (("best rank of the column", best), ("r = 15", ranks[15])):
        columns = [
            name
            for j, name in enumerate(COLUMNS)
            if ours[j] <= max(row[j] for row in rivals.values())
        ]
        pairs = [
            f"{name}, {column}"
            for j, column in enumerate(COLUMNS)
            for name, row in rivals.items()
            if ours[j] <= row[j]
        ]
        total = len(COLUMNS)
        readings.append(most(f"columns, {label}", total - len(columns), total, part, columns))
        size = total * len(rivals)
        readings.append(most(f"pairs, {label}", size - len(pairs), size, part, pairs))
    yield Readings(readings, name="most cases", phrase="in most cases; pFL^MF has four ranks")
    for j in (0, 1):
        ahead = best[j] - max(row[j] for row in rivals.values())
        yield Fact(f"points ahead of the best other method, {COLUMNS[j]}", float(ahead))


@statement(
    "pflmf.table1.comparable",
    place="Section 5, Observations, on Table 1",
    latex=r"\text{MNIST: the performance across algorithms is comparable}",
    plain="On MNIST the accuracies of all algorithms in Table 1 are within 10 points.",
    expected=FAILS,
    negative_control={"points": 4},
)
def comparable(budget, rng, *, points=10, left_out=()):
    """Compare the largest and the least accuracy on MNIST, each method with each of its ranks.

    Comparable: at most so many points apart.
    """
    rows = {**exactly(OTHERS), **{f"pFL^MF, r = {r}": row for r, row in exactly(RANKS).items()}}
    rows = {name: row for name, row in rows.items() if name not in left_out}
    pfl = {name: row for name, row in rows.items() if name not in ("Local", "FedAvg")}
    readings = []
    for name, chosen in (("all algorithms", rows), ("pFL methods", pfl)):
        cases = []
        for j in (0, 1):
            accuracy = {each: row[j] for each, row in chosen.items()}
            best, least = (pick(accuracy, key=accuracy.__getitem__) for pick in (max, min))
            at = {"column": COLUMNS[j], "largest": best, "least": least}
            spread = accuracy[best] - accuracy[least]
            cases.append((spread, model.rational(points), at))
        readings.append(
            Cases(cases, name=name, quantity="points apart", strength=ENUMERATED, shown=("least",))
        )
    yield Readings(readings, name="MNIST", phrase="across algorithms")


comparable.corrected(
    "pflmf.table1.comparable.corrected",
    latex=r"\text{MNIST: but for FLUTE, the performance across algorithms is comparable}",
    plain="On MNIST the accuracies of all algorithms in Table 1 but FLUTE are within 10 points.",
    constants={"left_out": ("FLUTE",)},
    negative_control={"points": 4},
    stronger={"points": -1},
)


@statement(
    "pflmf.table2",
    place="Section 5, Observations, on Table 2",
    latex=r"\text{groups: pFL}^{\text{MF}}\text{ improves the average test accuracy substantially}",
    plain="With groups of clients (Table 2) pFL^MF's accuracy is substantially above the others'.",
    negative_control={"substantial": 15.0},
    stronger={"substantial": 1},
)
def table2(budget, rng, *, substantial=5.0):
    """Compare the printed accuracies at the best rank and at r = 15, in both experiments on groups.

    Substantial: more than so many points above the best other method.
    """
    ranks, others = exactly(SECOND_RANKS), exactly(SECOND_OTHERS)
    readings = []
    for label, chosen in (("best rank", tuple(ranks)), ("r = 15", (15,))):
        cases = []
        for j, column in enumerate(GROUPS):
            ours = max(ranks[rank][j] for rank in chosen)
            least = max(row[j] for row in others.values()) + model.rational(substantial)
            cases.append((least, ours, {"column": column, "pFL^MF": str(ours)}))
        readings.append(Cases(cases, name=label, quantity="accuracy needed", strength=ENUMERATED))
    yield Readings(readings, name="groups", phrase="substantial; pFL^MF has four ranks")
    five = max(row[3] for row in ranks.values()) - others["FedAvg"][3]
    yield Fact("points above FedAvg, FEMNIST, 5 local epochs, best rank", float(five))


@statement(
    "pflmf.table2.local-epochs",
    place="Section 5, Observations, on Table 2",
    latex=r"\text{FEMNIST: accuracy at 5 local epochs} > \text{accuracy at 1}",
    plain="On FEMNIST (Table 2) five local epochs give pFL^MF a higher accuracy than one.",
    negative_control={"least": 10.0},
    stronger={"least": 1},
)
def local_epochs(budget, rng, *, least=0.0):
    """Compare the printed accuracies with 5 and with 1 local epochs, in points."""
    ranks, others = exactly(SECOND_RANKS), exactly(SECOND_OTHERS)
    gains = {rank: row[3] - row[2] for rank, row in ranks.items()}
    bound = model.rational(least)
    mean = sum(gains.values(), Fraction(0)) / len(gains)
    best = max(row[3] for row in ranks.values()) - max(row[2] for row in ranks.values())
    found = {
        "at every rank": [
            (bound, gain, {"r": rank, "gain": str(gain)}) for rank, gain in gains.items()
        ],
        "on average": [(bound, mean, {"mean gain": str(mean)})],
        "at the best ranks": [(bound, best, {"gain": str(best)})],
    }
    readings = [
        Cases(cases, name=name, quantity="points needed", strength=ENUMERATED)
        for name, cases in found.items()
    ]
    yield Readings(
        readings, name="more local epochs", phrase="contribute positively; pFL^MF has four ranks"
    )
    yield Fact("points that 5 local epochs gain, pFL^MF, mean over ranks", float(mean))
    for name, row in others.items():
        yield Fact(f"points that 5 local epochs gain, {name}", float(row[3] - row[2]))
