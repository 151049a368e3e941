"""Section 7.2: what is said of Table 1, judged as arithmetic on the printed accuracies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from linrep.claims import Cases, Fact, Readings, statement
from linrep.claims.evidence import ENUMERATED

#: Data set, clients N and classes per client m of each column.
COLUMNS: tuple[tuple[Any, int, int], ...] = (
    ("CIFAR-10", 50, 2),
    ("CIFAR-10", 50, 5),
    ("CIFAR-10", 100, 2),
    ("CIFAR-10", 100, 5),
    ("CIFAR-100", 100, 5),
    ("CIFAR-100", 100, 10),
    ("CIFAR-100", 100, 20),
    ("CIFAR-100", 100, 40),
)
#: Average test accuracies in percent, as printed.
ACCURACY = {
    "FedAvg": "34.460 47.217 41.584 51.876 20.212 31.533 34.659 32.902",
    "FedAvg-FT": "83.996 71.465 84.688 70.884 78.342 66.660 54.464 44.858",
    "Fed-LG": "82.724 61.820 83.019 62.957 72.526 53.526 34.445 22.702",
    "FedPer": "85.173 74.015 86.168 73.666 76.001 67.100 56.066 44.689",
    "FedRep": "86.133 71.737 86.685 73.808 78.621 68.530 56.360 43.061",
    "FedRep*": "87.320 75.766 87.177 75.296 78.892 68.630 56.654 42.025",
    "FedRoD": "79.476 68.728 83.296 72.116 74.299 66.462 57.280 48.120",
    "FedCP": "85.361 71.603 84.798 71.344 74.266 66.426 57.067 43.638",
    "FLUTE": "87.012 76.478 86.128 76.918 77.750 70.598 59.243 48.169",
    "FLUTE*": "87.713 76.543 88.567 78.255 79.560 70.844 59.714 48.170",
}
#: What follows "±" there, of those methods that are compared with it.
SPREAD = {
    "FedRep*": "1.485 0.220 0.489 0.410 0.410 0.705 0.609 0.404",
    "FedRoD": "2.966 1.750 1.545 0.788 0.338 0.284 0.105 0.186",
    "FLUTE*": "1.365 0.921 0.457 0.688 0.627 0.419 0.448 0.440",
}
OURS = ("FLUTE", "FLUTE*")
BASELINES = tuple(name for name in ACCURACY if name not in OURS)


def _row(table, name):
    return [Fraction(number) for number in table[name].split()]


def _wins(pairs, name):
    """Compare, for each pair of methods and column, the accuracy of the first with the second's."""
    cases = []
    for ours, other in pairs:
        columns = zip(_row(ACCURACY, ours), _row(ACCURACY, other), COLUMNS, strict=True)
        for mine, theirs, (data, clients, classes) in columns:
            where = {"method": ours, "baseline": other, "data": data, "N": clients, "m": classes}
            cases.append((theirs, mine, where))
    return Cases(cases, name=name, quantity="baseline's accuracy", strength=ENUMERATED)


@statement(
    "flute.table1.best",
    place="Section 7.2, Averaged performance, on Table 1",
    latex=r"\mathrm{acc}(\text{FLUTE}),\ \mathrm{acc}(\text{FLUTE*}) \ge"
    r" \mathrm{acc}(\text{baseline}) \text{ in all columns of Table 1}",
    plain="In Table 1 FLUTE and FLUTE* are above all baselines in every column.",
    negative_control={"compared": ("Fed-LG",)},
)
def best(budget, rng, *, compared=OURS):
    """Compare all printed means: each of both with each baseline, or with those as costly.

    FedRep* is what FLUTE* is for FLUTE: ten more epochs of the heads.
    """
    alike = [
        (ours, other)
        for ours in compared
        for other in BASELINES
        if ours != "FLUTE" or other != "FedRep*"
    ]
    yield Readings(
        [
            _wins(
                [(ours, other) for ours in compared for other in BASELINES if other != ours],
                "each of them, all baselines",
            ),
            _wins([pair for pair in alike if pair[0] != pair[1]], "FLUTE without FedRep*"),
        ],
        name="above all baselines",
        phrase="FLUTE and FLUTE* consistently outperform other baseline algorithms",
    )
    for at, (data, clients, classes) in enumerate(COLUMNS):
        rows = {name: _row(ACCURACY, name)[at] for name in BASELINES}
        second = max(rows, key=rows.__getitem__)
        lead = _row(ACCURACY, "FLUTE*")[at] - _row(ACCURACY, second)[at]
        spread = _row(SPREAD, "FLUTE*")[at] + _row(SPREAD, second)[at]
        yield Fact(
            f"{data}, {clients} x {classes}: lead of FLUTE* on {second} over the sum of both +-",
            float(lead / spread),
        )


best.corrected(
    "flute.table1.best.corrected",
    latex=r"\mathrm{acc}(\text{FLUTE*}) \ge \mathrm{acc}(\text{baseline}) \text{ in all columns}",
    plain="In Table 1 FLUTE* has the highest mean in every column.",
    constants={"compared": ("FLUTE*",)},
    negative_control={"compared": ("FedRep*",)},
)


def _steps():
    """Yield the columns between which N or m alone grows to its next value."""
    for one, (data, clients, classes) in enumerate(COLUMNS):
        later = [
            (other, COLUMNS[other]) for other in range(len(COLUMNS)) if COLUMNS[other][0] == data
        ]
        for which, held in ((1, 2), (2, 1)):
            larger = [
                (column[which], other)
                for other, column in later
                if column[held] == (data, clients, classes)[held]
                and column[which] > (data, clients, classes)[which]
            ]
            if larger:
                yield one, min(larger)[1], "Nm"[which - 1]


def _growth(references, name):
    """Compare each method's gain over its reference with that at the next N, or m."""
    cases = []
    for ours, reference in references.items():
        gain = [a - b for a, b in zip(_row(ACCURACY, ours), reference, strict=True)]
        for before, after, grows in _steps():
            where = {
                "method": ours,
                "from": list(COLUMNS[before]),
                "to": list(COLUMNS[after]),
                "grows": grows,
            }
            cases.append((gain[before], gain[after], where))
    return Cases(cases, name=name, quantity="gain at the smaller N or m", strength=ENUMERATED)


def _effects(references, name):
    """Compare both methods' mean gains, over the other variable, at successive N and m.

    Of CIFAR-10, where both vary; of CIFAR-100, where m does, the slope in log m is to be positive.
    """
    cases = []
    for ours, reference in references.items():
        gain = [a - b for a, b in zip(_row(ACCURACY, ours), reference, strict=True)]
        for which, values in ((1, (50, 100)), (2, (2, 5))):
            means = [
                sum(
                    value
                    for value, column in zip(gain[:4], COLUMNS[:4], strict=True)
                    if column[which] == level
                )
                / 2
                for level in values
            ]
            where = {"method": ours, "data": "CIFAR-10", "grows": "Nm"[which - 1]}
            cases.append((*means, where))
        # m doubles: logarithms are at -3, -1, 1, 3.
        slope = sum(weight * value for weight, value in zip((-3, -1, 1, 3), gain[4:], strict=True))
        cases.append((Fraction(0), slope, {"method": ours, "data": "CIFAR-100", "grows": "m"}))
    return Cases(cases, name=name, quantity="mean gain at the smaller N or m", strength=ENUMERATED)


@statement(
    "flute.table1.gain",
    place="Section 7.2, Averaged performance, on Table 1",
    latex=r"\mathrm{acc}(\text{FLUTE}) - \mathrm{acc}(\text{baseline}) \text{ and }"
    r" \mathrm{acc}(\text{FLUTE*}) - \mathrm{acc}(\text{baseline}) \text{ grow with } N"
    r" \text{ and with } m",
    plain="In Table 1 the gain of FLUTE and FLUTE* over some baseline grows with the number of "
    "clients and of classes, on average over the other.",
    negative_control={"compared": ("Fed-LG",), "against": ("best baseline",)},
)
def gain(budget, rng, *, compared=OURS, against=None):
    """Compare the gains, over each reference that the text can mean, along N and along m.

    They grow on average over the other variable, or along every step of the table.
    """
    rows = [_row(ACCURACY, name) for name in BASELINES]
    best_of = [max(column) for column in zip(*rows, strict=True)]
    mean_of = [sum(column) / len(column) for column in zip(*rows, strict=True)]
    counterpart = {"FLUTE": "FedRep", "FLUTE*": "FedRep*"}
    parts = {
        "best baseline": dict.fromkeys(compared, best_of),
        "mean of the baselines": dict.fromkeys(compared, mean_of),
        "FedRep, FedRep*": {
            ours: _row(ACCURACY, counterpart.get(ours, "FedRep")) for ours in compared
        },
        **{name: dict.fromkeys(compared, _row(ACCURACY, name)) for name in BASELINES},
    }
    chosen = against or tuple(parts)
    yield Readings(
        [
            measure(parts[name], f"{grows}, over {name}")
            for grows, measure in (("on average", _effects), ("in every step", _growth))
            for name in chosen
        ],
        name="gain grows",
        phrase="the gain of FLUTE and FLUTE* becomes more prominent with larger N and m",
    )
