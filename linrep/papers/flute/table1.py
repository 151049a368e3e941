"""Section 7.2: what is said of Table 1, judged as arithmetic on the printed accuracies."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from linrep.claims import Cases, Multiverse, statement
from linrep.claims.evidence import ENUMERATED
from linrep.claims.multiverse import GROWTHS
from linrep.claims.tables import MARGINS, average, printed

#: Data set, clients N and classes per client m of each column.
COLUMNS = (
    ("cifar10", 50, 2), ("cifar10", 50, 5), ("cifar10", 100, 2), ("cifar10", 100, 5),
    ("cifar100", 100, 5), ("cifar100", 100, 10), ("cifar100", 100, 20), ("cifar100", 100, 40),
)  # fmt: skip
#: Average test accuracies in percent.
TABLE = printed(
    {
        "FedAvg": "34.460±1.083 47.217±0.395 41.584±0.433 51.876±0.675 "
        "20.212±0.574 31.533±0.519 34.659±0.482 32.902±0.195",
        "FedAvg-FT": "83.996±0.948 71.465±0.701 84.688±0.437 70.884±0.697 "
        "78.342±0.574 66.660±0.370 54.464±0.178 44.858±0.119",
        "Fed-LG": "82.724±2.137 61.820±0.409 83.019±0.431 62.957±0.895 "
        "72.526±0.692 53.526±0.151 34.445±0.375 22.702±0.315",
        "FedPer": "85.173±1.082 74.015±0.724 86.168±0.703 73.666±0.281 "
        "76.001±0.454 67.100±0.229 56.066±0.389 44.689±0.411",
        "FedRep": "86.133±0.775 71.737±0.296 86.685±0.766 73.808±0.561 "
        "78.621±0.159 68.530±0.255 56.360±0.245 43.061±0.476",
        "FedRep*": "87.320±1.485 75.766±0.220 87.177±0.489 75.296±0.505 "
        "78.892±0.410 68.630±0.705 56.654±0.609 42.025±0.404",
        "FedRoD": "79.476±2.966 68.728±1.750 83.296±1.545 72.116±0.788 "
        "74.299±0.338 66.462±0.284 57.280±0.105 48.120±0.186",
        "FedCP": "85.361±1.605 71.603±0.885 84.798±0.489 71.344±0.587 "
        "74.266±0.559 66.426±0.372 57.067±0.483 43.638±0.415",
        "FLUTE": "87.012±0.453 76.478±0.484 86.128±1.007 76.918±0.712 "
        "77.750±0.615 70.598±0.282 59.243±0.334 48.169±0.597",
        "FLUTE*": "87.713±1.365 76.543±0.921 88.567±0.457 78.255±0.688 "
        "79.560±0.627 70.844±0.419 59.714±0.448 48.170±0.440",
    }
)
#: The rows in which a claim has to be true; of several together the best of a column counts.
METHODS = {"each of them": (("FLUTE",), ("FLUTE*",)), "the better of them": (("FLUTE", "FLUTE*"),)}
BASELINES = tuple(name for name in TABLE if not name.startswith("FLUTE"))
#: FLUTE* and FedRep* train heads for ten more epochs.
COUNTERPARTS = {"FLUTE": "FedRep", "FLUTE*": "FedRep*"}


@statement(
    "flute.table1.best",
    place="Section 7.2, Averaged performance, on Table 1",
    latex=r"\mathrm{acc}(\text{FLUTE}),\ \mathrm{acc}(\text{FLUTE*}) >"
    r" \mathrm{acc}(\text{baseline}) \text{ in all columns of Table 1}",
    plain="FLUTE and FLUTE* consistently outperform all baselines in Table 1.",
    negative_control={"methods": {"Fed-LG": (("Fed-LG",),)}},
)
def best(budget, rng, *, methods=METHODS, margins=tuple(MARGINS)):
    """Compare the printed accuracies with those of the baselines, or of those as costly.

    FLUTE* is the better one in every column, so that it alone would be no further reading.
    """

    def lead(method, baselines, margin, columns):
        cases = []
        for places in columns:
            found = {name: average([row[at] for at in places]) for name, row in TABLE.items()}
            for names in method:
                mine = max(names, key=found.__getitem__)
                for other in BASELINES:
                    if (mine, other) not in baselines:
                        lead = found[mine][0] - found[other][0]
                        needed = margin(found[mine], found[other])
                        where = {"method": mine, "baseline": other}
                        cases.append((needed - lead, 0, where | {"columns": str(places)}))
        return Cases(cases, quantity="points that lack", strength=ENUMERATED)

    places = range(len(COLUMNS))
    yield Multiverse.of(
        lead,
        {
            "method": methods,
            "baselines": {"all": (), "FedRep* for FLUTE* alone": (("FLUTE", "FedRep*"),)},
            "margin": {name: MARGINS[name] for name in margins},
            "columns": {"each": [[place] for place in places], "their average": [list(places)]},
        },
        about={
            "method": "the better of both, each of them, or one",
            "baselines": "FedRep* has what FLUTE* has and FLUTE has not",
        },
        phrase="FLUTE and FLUTE* consistently outperform other baseline algorithms",
        excluded={"columns": {"their average": "in all experiments"}},
    )


best.corrected(
    "flute.table1.best.corrected",
    latex=r"\mathrm{acc}(\text{FLUTE*}) > \mathrm{acc}(\text{baseline}) \text{ in all columns}",
    plain="In Table 1 the mean accuracy of FLUTE* is above those of all baselines in each column.",
    constants={"methods": {"FLUTE*": (("FLUTE*",),)}, "margins": ("of the means",)},
    negative_control={"methods": {"FedRep*": (("FedRep*",),)}},
)

_N, _m = [(0, 2), (1, 3)], [(0, 1), (2, 3)]  # on CIFAR-10
_M = [(4, 5, 6, 7)]  # m on CIFAR-100
#: Groups of lines of columns along which N or m grows; growth on average is that of a group.
LINES = {
    "N and m": (_N, _m, _M),
    "N and m together": ([(0, 3)], _M),
    "N alone": (_N,),
    "m alone": (_m, _M),
}
GAINS = {
    "difference": lambda mine, other: mine - other,
    "ratio": lambda mine, other: mine / other,
    "share of the errors left": lambda mine, other: (mine - other) / (100 - other),
}


def _growth(gain, groups, grows):
    """Yield by how much gains grow along lines: least-squares slopes, or differences."""
    for lines in groups:
        if grows == "on average":  # m doubles: weights are equally spaced
            yield sum(
                (2 * place - len(line) + 1) * gain[column]
                for line in lines
                for place, column in enumerate(line)
            )
        for line in lines:
            if grows == "from end to end":
                yield gain[line[-1]] - gain[line[0]]
            if grows == "at every step":
                yield from (gain[after] - gain[before] for before, after in pairwise(line))


def _references(names):
    """Return what a gain may be over, in each column: one baseline or another, or several.

    Likewise: for each of FLUTE and FLUTE* its own, for the better of them the better one.
    """
    rows = {name: [mean for mean, _ in TABLE[name]] for name in BASELINES if name not in names}
    columns = list(zip(*rows.values(), strict=True))
    counterparts = [rows[COUNTERPARTS.get(name, "FedRep")] for name in names]
    return {
        "the best baseline": [max(column) for column in columns],
        "the mean of the baselines": [sum(column) / Fraction(len(column)) for column in columns],
        "FedRep and FedRep* likewise": [max(column) for column in zip(*counterparts, strict=True)],
        **rows,
    }


@statement(
    "flute.table1.gain",
    place="Section 7.2, Averaged performance, on Table 1",
    latex=r"\mathrm{acc}(\text{FLUTE}) - \mathrm{acc}(\text{baseline}) \text{ and }"
    r" \mathrm{acc}(\text{FLUTE*}) - \mathrm{acc}(\text{baseline}) \text{ grow with } N"
    r" \text{ and with } m",
    plain="In Table 1 the gain of FLUTE and FLUTE* grows with the number of clients and classes.",
    negative_control={"methods": {"Fed-LG": (("Fed-LG",),)}},
)
def gain(budget, rng, *, methods=METHODS):
    """Compare gains, over each reference and in each unit that the text can mean."""

    def growth(method, over, gain_as, grows, along):
        cases = []
        for names in method:
            mine = [max(column)[0] for column in zip(*map(TABLE.get, names), strict=True)]
            gains = list(map(gain_as, mine, _references(names)[over]))
            where = {"method": ", ".join(names)}
            cases += [(-found, 0, where) for found in _growth(gains, along, grows)]
        unit = next(name for name, each in GAINS.items() if each is gain_as)
        return Cases(cases, quantity=f"fall of the {unit}", strength=ENUMERATED)

    yield Multiverse.of(
        growth,
        {
            "method": methods,
            "over": list(_references(next(iter(methods.values()))[0])),
            "gain as": GAINS,
            "grows": GROWTHS,
            "along": LINES,
        },
        about={
            "method": "the better of both, each of them, or one",
            "over": "the accuracy that gains are over",
            "along": "columns in which N, m or both are larger",
            "grows": "by the slopes of least squares, from the first column to the last, or "
            "from each to the next",
        },
        phrase="the gain of FLUTE and FLUTE* becomes more prominent with larger N and m",
        excluded={"along": dict.fromkeys(("N alone", "m alone"), "larger N and m")},
    )
