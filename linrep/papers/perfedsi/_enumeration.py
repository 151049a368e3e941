"""Which walks the checks enumerate, and what they make of means over them."""

from __future__ import annotations

import numpy as np

from linrep.claims import Cases, Exponent, Fact
from linrep.theory.perfedsi_rounds import Items, State, Walks, balanced, sequences

#: Walks on which the event's c would have to be larger have diverged.
OVERFLOW = 1e30


def items_for(d: int, steps: int, most: int, rng) -> Items:
    """Return all sequences if there are at most so many, else so many balanced ones."""
    if d**steps <= most:
        return sequences(d, steps)
    return balanced(d, steps, max(1, most // d), rng=rng)


def exact_cases(cases, *, name: str = "", strength: str = "") -> Cases:
    """Return of cases (lhs over rhs, 1, instance, whether exact) those that are exact.

    The others are means over balanced sequences in place of all, or under events that ask less
    than all clients' walks.
    """
    exact = [case[:3] for case in cases if case[3]]
    return Cases(exact, quantity="lhs/rhs", name=name, strength=strength)


def largest_inexact(cases) -> Fact:
    """Return the largest of the other cases, which decide nothing."""
    most = max((left / right for left, right, _, sure in cases if not sure), default=0.0)
    return Fact("largest lhs/rhs where the mean is not exact", most)


def power_of(name, variable, sizes, values, predicted, *, at_most=False, strength="") -> Exponent:
    """Return enumerated values, which have no noise, along a variable; and their power in it."""
    claimed = {"at_most" if at_most else "equals": predicted}
    return Exponent(
        sizes,
        [[value] * 2 for value in values],
        **claimed,
        deterministic=True,
        along=variable,
        of=name,
        name=f"{name} in {variable}",
        strength=strength,
    )


def start_of(state: State) -> Walks:
    """Return walks without steps."""
    return Walks(state, np.zeros((1, 0), dtype=int), 0.0)


def whole(power):
    """Return a power as a whole number, of which fractions stay fractions, where it is one."""
    return int(power) if float(power).is_integer() else float(power)
