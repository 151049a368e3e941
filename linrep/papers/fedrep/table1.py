"""Section 5.2 and Appendix A.2: what Table 1's printed numbers say of sentences on it.

The accuracies are of networks; here they are compared with each other, nothing is run.
"""

from __future__ import annotations

from fractions import Fraction

from linrep.claims import Cases, Fact, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.papers.fedrep.model import read_as

#: Clients and classes per client: three of CIFAR10, two of CIFAR100, Sent140, FEMNIST.
COLUMNS = ((100, 2), (100, 5), (1000, 2), (100, 5), (100, 20), (183, 2), (150, 3))
#: Average test accuracies in hundredths of a percent.
ACCURACIES = {
    "Local Only": (8979, 7068, 7830, 7529, 4129, 6988, 6086),
    "FedAvg": (4265, 5178, 4431, 2394, 3197, 5275, 5164),
    "FedAvg+FT": (8765, 7368, 8204, 7934, 5544, 7192, 7241),
    "FedProx": (3992, 5099, 2193, 2017, 2852, 5233, 1889),
    "FedProx+FT": (8581, 7275, 7541, 7852, 5509, 7121, 5354),
    "SCAFFOLD": (3772, 4733, 3379, 2032, 2252, 5131, 1765),
    "SCAFFOLD+FT": (8635, 6823, 7824, 7888, 4434, 7149, 5211),
    "Fed-MTL": (8046, 5831, 7653, 7147, 4125, 7120, 5411),
    "PerFedAvg": (8227, 6720, 6736, 7205, 5249, 6845, 7151),
    "LG-Fed": (8414, 6302, 7748, 7244, 3876, 7037, 6208),
    "L2GD": (8104, 5998, 7196, 7213, 4284, 7067, 6618),
    "APFL": (8377, 7229, 8239, 7820, 5544, 6987, 7074),
    "Ditto": (8539, 7034, 8036, 7891, 5634, 7104, 6828),
    "FedPer": (8713, 7384, 8173, 7600, 5568, 7212, 7691),
    "FedRep": (8770, 7568, 8327, 7915, 5610, 7241, 7856),
}
_POINT = 100


def _where(column):
    """Return what names a column."""
    return {"column of Table 1": column + 1, "(n, S)": COLUMNS[column]}


@statement(
    "fedrep.table1.top",
    place="Section 5.2, on Table 1",
    latex=r"\text{FedRep is the top-performing method or very close to it in all columns}",
    plain="In every column of Table 1 FedRep has the highest printed accuracy or one very close to "
    "it: the second highest, or one within a point.",
    negative_control={"method": "FedAvg"},
)
def top(budget, rng, *, method="FedRep", second=2, points=1):
    """Rank the method's printed accuracy in each column, and take its distance to the highest."""
    ranks, gaps = [], []
    for column, own in enumerate(ACCURACIES[method]):
        others = [row[column] for row in ACCURACIES.values()]
        rank, gap = 1 + sum(value > own for value in others), max(others) - own
        ranks.append((Fraction(rank), Fraction(second), _where(column)))
        gaps.append((Fraction(gap, _POINT), Fraction(points), _where(column)))
    yield Readings(
        [
            Cases(ranks, name="first or second", quantity="rank", strength=PROVED),
            Cases(gaps, name="within a point", quantity="points below the highest"),
        ],
        name="very close",
        phrase="either the top-performing method or is very close",
    )
    yield Fact("columns in which it is first", sum(rank == 1 for rank, _, _ in ranks))


@statement(
    "fedrep.table1.scaffold",
    place="Section 5.2, on Table 1",
    latex=r"\text{FedAvg} > \text{SCAFFOLD in all columns}",
    plain="In every column of Table 1 FedAvg has a higher printed accuracy than SCAFFOLD.",
    negative_control={"pair": ("SCAFFOLD", "FedAvg")},
)
def scaffold(budget, rng, *, pair=("FedAvg", "SCAFFOLD")):
    """Compare two rows of the table."""
    yield _above(*pair)


@statement(
    "fedrep.table1.fine_tuning",
    place="Section 5.2, on Table 1",
    latex=r"\text{FedAvg+FT} > \text{FedProx+FT},\ \text{SCAFFOLD+FT in all columns}",
    plain="In every column of Table 1 FedAvg+FT has the highest printed accuracy of the fine-tuned "
    "methods.",
    negative_control={"best": "FedProx+FT"},
)
def fine_tuning(budget, rng, *, best="FedAvg+FT"):
    """Compare the rows of fine-tuned methods."""
    for other in ("FedAvg+FT", "FedProx+FT", "SCAFFOLD+FT"):
        if other != best:
            yield _above(best, other)


def _above(one, other):
    """Return whether one method has the higher accuracy in each column."""
    cases = [
        (Fraction(low, _POINT), Fraction(high, _POINT), _where(column))
        for column, (high, low) in enumerate(zip(ACCURACIES[one], ACCURACIES[other], strict=True))
    ]
    return Cases(cases, name=f"{one} above {other}", quantity="accuracy", strength=PROVED)


@statement(
    "fedrep.appendixA2.partition",
    place="Appendix A.2, on APFL",
    latex=r"(n, S) = (100, 25) \text{ for CIFAR100}",
    plain="The most heterogeneous partition of CIFAR100 has 100 clients of 25 classes each.",
    negative_control={"classes": (30,)},
)
def partition(budget, rng, *, classes=(25, 5)):
    """Compare the classes per client with the fewest in Table 1's two columns of CIFAR100."""
    fewest = min(S for _, S in COLUMNS[3:5])
    parts = [
        Cases(
            [(Fraction(abs(S - fewest)), Fraction(0), {"S": S})],
            name=f"S = {S}",
            quantity="classes off the most heterogeneous partition",
            strength=PROVED,
        )
        for S in classes
    ]
    elsewhere = {"S = 5": "Table 1"}
    yield read_as(parts, name="partition", phrase="(100, 25)", printed_elsewhere=elsewhere)
