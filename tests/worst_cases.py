"""Worst cases of several rounds of pFL^MF, by performance estimation: semidefinite programs.

One client, K = 1, L = 1, no noise; U follows the whole gradient. A run is a tree of points, as the
client takes part or not, and its unknowns are values and inner products of gradients. They satisfy
what functions do whose gradients in U and in V are Lipschitz: smooth interpolation between points
that share U or V, and the bound on how each gradient changes with the other factor. The largest
mean squared gradient under these conditions bounds that of every function; whether a function
attains it is not known.
"""

from itertools import combinations

import clarabel
import numpy as np
from scipy import sparse


class _Program:
    """Points with their coordinates as combinations of gradients, and conditions on them."""

    def __init__(self):
        self.points = []  # (U, V) as combinations of gradients in U and in V, by point

    def add(self, U, V):
        self.points.append((dict(U), dict(V)))
        return len(self.points) - 1


def _tree(p, eta, T):
    """Return the program's points and, for each node of a round, its probability and depth."""
    tree, nodes = _Program(), []
    level = [(1.0, tree.add({}, {}))]
    for _ in range(T):
        after = []
        for chance, at in level:
            nodes.append((chance, at))
            U, V = tree.points[at]
            new_U, new_V = {**U, at: -eta}, {**V, at: -p * eta}
            tree.add(U, new_V)
            after.append((chance * (1.0 - p), tree.add(new_U, V)))
            after.append((chance * p, tree.add(new_U, new_V)))
        level = after
    return tree, nodes


def worst_mean(p, eta, T):
    """Return the largest mean over T rounds of E(|grad_U|^2 + p^2 |grad_V|^2), F^0 - F* = 1."""
    tree, nodes = _tree(p, eta, T)
    count = len(tree.points)
    pairs = count * (count + 1) // 2
    place = np.zeros((count, count), dtype=int)
    for j in range(count):  # the upper triangle, by columns
        for i in range(j + 1):
            place[i, j] = place[j, i] = j * (j + 1) // 2 + i
    size = 2 * pairs + count  # both Gram matrices, and F - F* of each point

    def product(block, one, other):
        """Return the row of an inner product of combinations of gradients in a block."""
        row = np.zeros(size)
        for i, a in one.items():
            for j, b in other.items():
                scale = 1.0 if i == j else np.sqrt(0.5)  # off the diagonal entries count twice
                row[block * pairs + place[i, j]] += a * b * scale
        return row

    def value(at):
        row = np.zeros(size)
        row[2 * pairs + at] = 1.0
        return row

    def minus(one, other):
        return {key: one.get(key, 0.0) - other.get(key, 0.0) for key in one.keys() | other.keys()}

    most, limits = [], []  # rows @ unknowns <= limits

    def at_most_zero(row):
        most.append(row)
        limits.append(0.0)

    for i, j in combinations(range(count), 2):
        for block in (0, 1):
            if tree.points[i][1 - block] != tree.points[j][1 - block]:
                continue
            moved = minus(tree.points[i][block], tree.points[j][block])
            gone = {i: 1.0, j: -1.0}
            square, turned = product(block, moved, moved), product(block, gone, gone)
            mean = product(block, {i: 0.5, j: 0.5}, moved)
            change = value(i) - value(j) - mean
            for sign in (1.0, -1.0):
                at_most_zero(sign * change + 0.25 * turned - 0.25 * square)
            at_most_zero(product(1 - block, gone, gone) - square)
    for at in range(count):
        at_most_zero(-value(at))
    most.append(value(0))
    limits.append(1.0)
    goal = np.zeros(size)
    for chance, at in nodes:
        goal += (
            chance
            / T
            * (product(0, {at: 1.0}, {at: 1.0}) + p**2 * product(1, {at: 1.0}, {at: 1.0}))
        )
    cone = sparse.vstack([np.array(most), -sparse.eye(2 * pairs, size)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((size, size)), -goal, cone, np.append(limits, np.zeros(2 * pairs)),
        [clarabel.NonnegativeConeT(len(most)), *[clarabel.PSDTriangleConeT(count)] * 2], settings,
    )  # fmt: skip
    found = solver.solve()
    assert str(found.status) in ("Solved", "AlmostSolved"), found.status
    return -found.obj_val
