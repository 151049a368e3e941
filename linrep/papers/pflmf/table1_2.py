"""What Section 5 says of Tables 1 and 2, judged on the accuracies that they print."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import mean

from linrep.claims import Cases, Multiverse, statement
from linrep.claims.evidence import ENUMERATED, FAILS
from linrep.claims.tables import MARGINS, average, printed

#: Columns: MNIST, CIFAR10 and CIFAR100, each at Dir(0.5) and Dir(1).
TABLE_1 = printed(
    {
        "Local": "92.12±0.59 89.15±1.12 59.14±3.74 48.53±2.53 16.09±1.52 10.66±0.98",
        "FedAvg": "96.92±0.65 97.01±0.54 65.21±2.11 65.44±1.68 28.30±1.82 28.36±1.32",
        "FedPer": "96.30±0.26 95.16±0.58 66.86±3.19 58.25±2.22 19.98±1.6 14.22±1.01",
        "FedRep": "95.04±0.40 93.33±0.94 65.16±3.44 55.4±2.06 17.49±1.12 12.14±1.05",
        "APFL": "97.93±0.51 97.64±0.39 65.99±2.06 65.14±1.54 27.07±1.57 27.07±1.36",
        "CFL": "96.92±0.72 97.04±0.5 64.97±2.68 65.98±1.70 27.02±1.48 24.84±0.91",
        "FLUTE": "76.72±0.88 73.25±1.01 48.20±0.74 40.59±0.69 12.58±0.28 7.28±0.13",
        "FedAlt": "98.09±0.05 97.91±0.05 62.89±0.57 58.09±0.43 20.57±0.46 16.20±0.19",
        "FedAS": "97.17±0.12 97.11±0.39 66.33±1.14 63.80±0.54 8.48±1.79 5.12±1.56",
        "pFedFDA": "97.23±0.04 97.05±0.08 70.65±1.59 66.67±1.41 26.15±0.19 19.10±0.17",
        "r = 1": "96.75±0.61 96.53±0.59 43.89±3.49 64.03±1.66 34.32±1.96 35.24±1.77",
        "r = 5": "96.78±0.51 96.55±0.60 60.73±2.86 65.89±1.88 35.64±2.09 35.75±1.24",
        "r = 10": "96.98±0.70 96.84±0.56 65.10±2.30 67.68±1.56 35.28±1.73 36.84±1.50",
        "r = 15": "98.24±0.26 97.93±0.22 68.13±2.43 65.88±1.62 35.70±1.77 36.12±1.46",
    }
)
#: Columns: permuted labels, super groups, and FEMNIST with 1 and with 5 local epochs.
TABLE_2 = printed(
    {
        "Local": "25.36±0.013 10.49±0.95 50.77±0.053 65.69±0.012",
        "FedAvg": "12.02±0.022 36.40±1.31 65.40±0.017 77.19±0.013",
        "FedPer": "19.86±0.141 14.80±0.81 66.05±0.010 67.72±0.009",
        "FedRep": "21.30±0.148 12.18±0.80 66.10±0.013 66.29±0.010",
        "r = 1": "14.70±0.083 42.94±1.22 67.82±0.134 71.42±0.044",
        "r = 5": "23.75±0.027 44.70±1.91 69.99±0.123 72.09±0.208",
        "r = 10": "34.23±0.090 45.57±1.97 72.56±0.023 72.47±0.010",
        "r = 15": "39.31±0.042 45.43±1.23 73.59±0.092 76.41±0.006",
    }
)
#: pFL^MF's rows, of which r = 15 is the best on average over Table 1; those of no pFL method.
RANKS = ("r = 1", "r = 5", "r = 10", "r = 15")
NOT_PFL = ("Local", "FedAvg")
#: Columns of MNIST in Table 1, of groups in Table 2.
FIRST_TWO = {"each": [(0,), (1,)], "their average": [(0, 1)]}
ABOUT = {"rank": "which of pFL^MF's four rows its accuracy is"}


def _ranks(rows=RANKS):
    """Return what the accuracy of pFL^MF may be: of the best row, of one, of each, or the mean."""
    return {
        "the best of each column": (max, [rows]),
        **{row: (max, [[row]]) for row in rows},
        "each of them": (max, [[row] for row in rows]),
        "their mean": (average, [rows]),
    }


def _read(table, places, rank, left_out=()):
    """Return the accuracies of pFL^MF and those of the others, averaged over columns."""
    found = {name: average([row[place] for place in places]) for name, row in table.items()}
    pick, groups = rank
    ours = [pick([found[name] for name in group]) for group in groups]
    left_out = {*left_out, *RANKS, *(name for group in groups for name in group)}
    return ours, {name: each for name, each in found.items() if name not in left_out}


@statement(
    "pflmf.table1",
    place="Section 5, Observations, on Table 1",
    latex=r"\text{pFL}^{\text{MF}}\text{ outperforms other pFL methods in most cases}",
    plain="In Table 1 pFL^MF outperforms other pFL methods in most cases.",
    negative_control={"rows": ("FLUTE",)},
)
def table1(budget, rng, *, rows=RANKS):
    """Count, in the printed accuracies, the cases in which it is ahead of all, or of one."""

    def most(rank, cases, rivals, margin, share):
        wins: list[bool] = []
        for places in ((0, 1), (2, 3), (4, 5)) if cases == "data sets" else zip(range(6)):
            ours, others = _read(TABLE_1, places, rank, rivals)
            for mine in ours:
                ahead = [mine[0] - each[0] > margin(mine, each) for each in others.values()]
                wins += ahead if cases.startswith("pairs") else [all(ahead)]
        needed = len(wins) // 2 + 1 if share is None else math.ceil(len(wins) * share)
        where = {"cases": len(wins), "pFL^MF ahead": sum(wins)}
        lacking = Fraction(needed - sum(wins), len(wins))
        return Cases([(lacking, 0, where)], quantity="share that lacks", strength=ENUMERATED)

    yield Multiverse.of(
        most,
        {
            "rank": _ranks(rows),
            "cases": ("columns", "pairs of column and method", "data sets"),
            "rivals": {"pFL methods": NOT_PFL, "all methods": ()},
            "margin": MARGINS,
            "share": {"more than half": None, "2/3": Fraction(2, 3), "90 %": Fraction(9, 10)},
        },
        about=ABOUT
        | {
            "cases": "in a column or data set it has to be ahead of all rivals",
            "share": "of the cases",
        },
        phrase="outperforms other pFL methods in most cases",
        excluded={"rivals": {"all methods": "other pFL methods"}},
    )


@statement(
    "pflmf.table1.comparable",
    place="Section 5, Observations, on Table 1",
    latex=r"\text{MNIST: the performance across algorithms is comparable}",
    plain="On MNIST the performance across the algorithms of Table 1 is comparable.",
    expected=FAILS,
    negative_control={"points": (1,)},
)
def comparable(budget, rng, *, points=(10, 5, 2, 1), left_out=()):
    """Compare the largest and the least accuracy on MNIST: how many points they are apart."""

    def apart(algorithms, rank, points, columns):
        cases = []
        for places in columns:
            ours, others = _read(TABLE_1, places, rank, (*left_out, *algorithms))
            others = {name: each for name, (each, _) in others.items()}
            means = others | {"pFL^MF": max(ours)[0], "pFL^MF, least": min(ours)[0]}
            least = min(means, key=means.__getitem__)
            cases.append((max(means.values()) - means[least], points, {"least": least}))
        return Cases(cases, quantity="points apart", strength=ENUMERATED, shown=("least",))

    yield Multiverse.of(
        apart,
        {
            "algorithms": {"all": (), "pFL methods": NOT_PFL},
            "rank": _ranks(),
            "points": points,
            "columns": FIRST_TWO,
        },
        about=ABOUT | {"points": "that the largest and the least accuracy may be apart"},
        phrase="the performance across algorithms is comparable on the MNIST dataset",
    )


comparable.corrected(
    "pflmf.table1.comparable.corrected",
    latex=r"\text{MNIST: but for FLUTE, the performance across algorithms is comparable}",
    plain="On MNIST the accuracies of all algorithms in Table 1 but FLUTE are within 10 points.",
    constants={"left_out": ("FLUTE",), "points": (10,)},
    negative_control={"points": (1,)},
)


@statement(
    "pflmf.table2",
    place="Section 5, Observations, on Table 2",
    latex=r"\text{groups: pFL}^{\text{MF}}\text{ improves the average test accuracy substantially}",
    plain="With groups of clients (Table 2) pFL^MF improves the accuracy substantially.",
    negative_control={"rows": ("FedRep",)},
)
def table2(budget, rng, *, rows=RANKS):
    """Compare the printed accuracies with those of others, in both experiments on groups."""

    def gain(rank, over, groups, substantially):
        cases = []
        for places in groups:
            pick, left_out = over
            ours, others = _read(TABLE_2, places, rank, left_out)
            other = pick([each for each, _ in others.values()])
            needed = substantially or other / 10
            cases += [(needed - (mine - other), 0, {"others": str(other)}) for mine, _ in ours]
        return Cases(cases, quantity="points that lack", strength=ENUMERATED)

    yield Multiverse.of(
        gain,
        {
            "rank": _ranks(rows),
            "over": {
                "the best other": (max, ()),
                "the best other pFL method": (max, NOT_PFL),
                "the mean of the others": (mean, ()),
            },
            "groups": FIRST_TWO,
            "substantially": {"1 point": 1, "5 points": 5, "10 points": 10, "10 %": None},
        },
        about=ABOUT
        | {"over": "whose accuracy it is compared with", "groups": "permuted labels, super groups"},
        phrase="achieves substantial improvements in average test accuracy",
    )


@statement(
    "pflmf.table2.local-epochs",
    place="Section 5, Observations, on Table 2",
    latex=r"\text{FEMNIST: accuracy at 5 local epochs} > \text{accuracy at 1}",
    plain="In Table 2 multiple local updates in pFL^MF contribute positively to performance.",
    negative_control={"least": 10},
)
def local_epochs(budget, rng, *, least=0):
    """Compare the printed accuracies on FEMNIST with 5 and with 1 local epochs, in points."""

    def gain(rank, margin):
        one, five = (_read(TABLE_2, [place], rank)[0] for place in (2, 3))
        cases = [
            (margin(after, before) + least - (after[0] - before[0]), 0, {"after": str(after[0])})
            for before, after in zip(one, five, strict=True)
        ]
        return Cases(cases, quantity="points that lack", strength=ENUMERATED)

    yield Multiverse.of(
        gain,
        {"rank": _ranks(), "margin": MARGINS},
        about=ABOUT,
        phrase="multiple local updates in pFL^MF contribute positively to performance",
    )
