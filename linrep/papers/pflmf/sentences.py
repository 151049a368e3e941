"""What Sections 1 and 3 say in passing: when FedAvg is enough, and what psi is separable in."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from linrep.claims import Condition, Readings, statement
from linrep.claims.evidence import FAILS, PROVED
from linrep.claims.laws import at_most, equal, measured
from linrep.papers.pflmf.counterexamples import fedavg_uniform

Rows = list[list[Fraction]]


@statement(
    "pflmf.fedavg-uniform",
    place="Section 1",
    latex=r"\theta_{\text{FedAvg}} \text{ optimal for all } f_i \Rightarrow D_1 = \dots = D_n",
    plain="Where FedAvg yields optimal results the clients' data distributions are uniform.",
    expected=FAILS,
    holds_with={"same": True},
    negative_control={"scale": 2},
)
def fedavg_uniform_data(budget, rng, *, same=False, scale=1):
    """Compare two clients' distributions, exactly, where FedAvg is optimal for both.

    With `same` both have the same sample, but for the factor `scale` at the second client's x.
    """

    def clients():
        for x in (Fraction(2), Fraction(-1), Fraction(1, 2)):
            second = (scale * (1 if same else x), 0)
            distance, apart = fedavg_uniform.sides(second)
            at = {"samples (x, y)": f"(1, 0), ({second[0]}, 0)"}
            # The distance of FedAvg's model from theirs, and of their distributions.
            yield "FedAvg is optimal", at_most(apart, Fraction(0)), at
            yield "two clients, least squares, exact", at_most(distance, Fraction(0)), at

    yield from measured(clients()).values()


def psi(U: Rows, V: Rows, coupled: int) -> Fraction:
    """Return the mean of |x|^2/2 + coupled x_1 x_2 at x = U v_i, of the rows v_i of V."""
    models = [[sum(a * b for a, b in zip(row, v, strict=True)) for row in U] for v in V]
    total = sum(x * x / 2 + y * y / 2 + coupled * x * y for x, y in models)
    return Fraction(total) / len(V)


def mixed(block: str, coupled: int) -> Fraction:
    """Return the mixed second difference of psi over two blocks, 0 where psi is a sum over them.

    Blocks are the first two v_i, rows of U, or columns of U, at 2 x 2 matrices of whole numbers.
    """
    U, V = [[1, 2], [3, 1]], [[1, 1], [2, -1], [1, 3]]
    values = []
    for moves in product((0, 1), repeat=2):
        moved_U = [[Fraction(x) for x in row] for row in U]
        moved_V = [[Fraction(x) for x in row] for row in V]
        for place, move in enumerate(moves):
            for other in range(2):
                if block == "v_i":
                    moved_V[place][other] += move
                elif block == "rows of U":
                    moved_U[place][other] += move
                else:
                    moved_U[other][place] += move
        values.append(psi(moved_U, moved_V, coupled))
    return values[0] - values[1] - values[2] + values[3]


@statement(
    "pflmf.separable",
    place="Section 3, below Algorithm 1",
    latex=r"\psi(U, V) = \textstyle\sum_i \psi_i(v_i) \text{ given } U, \text{ but no sum over rows"
    r" or columns of } U",
    plain="The objective is separable in the heads v_i, and not in the rows or columns of U.",
    negative_control={"coupled": 0},
)
def separable(budget, rng, *, coupled=1):
    """Take mixed second differences of psi, in fractions, for x'x/2 and with coordinates coupled.

    For x'x/2, and whenever f_i is a sum over coordinates, psi is a sum over rows of U.
    """
    heads = (("v_i", equal(mixed("v_i", c), Fraction(0)), {"coupled": c}) for c in (0, coupled))
    yield from measured(heads, strength=PROVED, quantity="|mixed difference|").values()

    def no_sum(block, c, name):
        found = mixed(block, c)
        quantity = "mixed difference"
        return Condition(
            found != 0, found, Fraction(0), name=name, quantity=quantity, strength=PROVED
        )

    yield no_sum("columns of U", coupled, "columns of U")
    rows = {"for some f_i": coupled, "for every f_i, also |x|^2/2": 0}
    yield Readings(
        [no_sum("rows of U", c, name) for name, c in rows.items()],
        name="rows of U",
        phrase="is not separable with respect to the rows or columns",
    )
