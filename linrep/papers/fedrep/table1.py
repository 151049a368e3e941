"""Section 5.2 and Appendix A.2: what Table 1's printed numbers say of sentences on it.

The accuracies are of networks; here they are compared with each other, nothing is run.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from linrep.claims import Cases, statement
from linrep.claims.evidence import ENUMERATED, PROVED
from linrep.claims.multiverse import Multiverse
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
PERSONALIZED = ("Fed-MTL", "PerFedAvg", "LG-Fed", "L2GD", "APFL", "Ditto", "FedPer")
TUNED = ("FedAvg+FT", "FedProx+FT", "SCAFFOLD+FT")
_TABLE1: dict[str, Any] = {"place": "Section 5.2, on Table 1"}


@statement(
    "fedrep.table1.top",
    latex=r"\text{FedRep is the top-performing method or very close to it in all columns}",
    plain="In every column of Table 1 FedRep has the highest printed accuracy or is very close to "
    "it.",
    negative_control={"method": "FedAvg"},
    **_TABLE1,
)
def top(budget, rng, *, method="FedRep"):
    """Rank it in each column, and take its distance to the highest, in hundredths of a point."""

    def close(very_close, rivals):
        allowed, of = very_close
        cases = []
        for column, own in enumerate(ACCURACIES[method]):
            others = [ACCURACIES[name][column] for name in rivals]
            cases.append((Fraction(of(own, others)), Fraction(allowed), _where(column)))
        return Cases(cases, quantity="how far from the highest", strength=ENUMERATED)

    points = {f"within {most} points": (100 * Fraction(most), _gap) for most in ("0.5", "1", "2")}
    closeness = {
        "second": (2, lambda own, others: 1 + sum(value > own for value in others)),
        **points,
        "within 2 % of it": (
            Fraction(2, 100),
            lambda own, them: Fraction(_gap(own, them), max(them)),
        ),
    }
    rivals = {
        "all rows": tuple(ACCURACIES),
        "all but local training": tuple(ACCURACIES)[1:],
        "personalized methods": PERSONALIZED,
    }
    yield Multiverse.of(
        close,
        {"very close": closeness, "rivals": rivals},
        about={
            "very close": "second in a column, or how far below its highest",
            "rivals": "with whom it is compared; local training is ahead in one column",
        },
        name="very close",
        phrase="In all cases, FedRep is either the top-performing method or is very close to the "
        "top-performing method",
    )


def _gap(own, others):
    """Return how far the highest of others is above an accuracy."""
    return max(0, max(others) - own)


@statement(
    "fedrep.table1.scaffold",
    latex=r"\text{FedAvg} > \text{SCAFFOLD in all columns}",
    plain="In Table 1 FedAvg has a higher printed accuracy than SCAFFOLD.",
    negative_control={"pair": ("SCAFFOLD", "FedAvg")},
    **_TABLE1,
)
def scaffold(budget, rng, *, pair=("FedAvg", "SCAFFOLD")):
    """Compare two rows in every column, so that it holds however columns are read."""
    yield _above(*pair)


@statement(
    "fedrep.table1.fine_tuning",
    latex=r"\text{FedAvg+FT} > \text{FedProx+FT},\ \text{SCAFFOLD+FT in all columns}",
    plain="In Table 1 fine-tuned methods have very high printed accuracies, FedAvg+FT the highest.",
    negative_control={"best": "FedProx+FT"},
    **_TABLE1,
)
def fine_tuning(budget, rng, *, best="FedAvg+FT"):
    """Compare fine-tuned methods with what they may be meant to be good against, and each other.

    "Especially FedAvg+FT" may be meant of that alone, and is that it is above the others.
    """
    middle = tuple(
        sorted(own)[3] for own in zip(*(ACCURACIES[x] for x in PERSONALIZED), strict=True)
    )

    def well(above, methods, columns):
        named = TUNED if methods in ("each", "on average") else (methods,)
        low = np.array([above(name) for name in named])
        high = np.array([ACCURACIES[name] for name in named])
        for axis, every in enumerate((methods != "on average", columns == "each")):
            if not every:
                low, high = (x.sum(axis=axis, keepdims=True) for x in (low, high))
        cases = [
            (Fraction(int(low[at])), Fraction(int(high[at])), {"method, column": at})
            for at in np.ndindex(low.shape)
        ]
        return Cases(cases, quantity="sum of accuracies", strength=ENUMERATED)

    yield Multiverse.of(
        well,
        {
            "above": {
                "local training": lambda name: ACCURACIES["Local Only"],
                "the same without fine-tuning": lambda name: ACCURACIES[name.removesuffix("+FT")],
                "the middle of the personalized methods": lambda name: middle,
            },
            "methods": ("each", "on average", best),
            "columns": ("each", "on average"),
        },
        about={
            "above": "what very well is compared with",
            "methods": "for which it has to be "
            "true: each of the three, their mean, or the one that is named",
        },
        name="fine-tuned methods",
        phrase="the fine-tuning methods perform very well, especially FedAvg+FT",
    )
    for other in TUNED:
        if other != best:
            yield _above(best, other)


def _where(column):
    """Return what names a column."""
    return {"column of Table 1": column + 1, "(n, S)": COLUMNS[column]}


def _above(one, other):
    """Return whether one method has the higher accuracy in each column."""
    pairs = zip(ACCURACIES[other], ACCURACIES[one], strict=True)
    cases = [(Fraction(low), Fraction(high), _where(at)) for at, (low, high) in enumerate(pairs)]
    name = f"{one} above {other}"
    return Cases(cases, name=name, quantity="accuracy in 0.01 %", strength=ENUMERATED)


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
