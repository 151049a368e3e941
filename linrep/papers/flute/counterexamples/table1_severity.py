"""Section 7.2 on CIFAR-10, 50 clients of 2 classes and 100 of 5: classes 0 to 9 in turn."""

from fractions import Fraction

INSTANCE = {"data": "CIFAR-10", "N": [50, 100], "m": [2, 5], "classes": "in turn"}


def rank(classes, chosen) -> int:
    """Return the rank of all e_a - e_b, a and b among the classes of one client.

    That is the number of classes less that of groups that are connected by clients.
    """
    group = list(range(classes))
    for own in chosen:
        joined = {group[c] for c in own}
        least = min(joined)
        group = [least if each in joined else each for each in group]
    return classes - len(set(group))


def in_turn(n, m) -> list[list[int]]:
    """Return the classes of n clients, m each, of 10."""
    return [[(i + j) % 10 for j in range(m)] for i in range(n)]


def sides(more=1) -> tuple[Fraction, Fraction]:
    """Return the rank that larger N and m are claimed to need, one more, and what they need."""
    before, after = rank(10, in_turn(50, 2)), rank(10, in_turn(100, 5))
    return Fraction(before + more), Fraction(after)
