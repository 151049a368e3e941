"""Random rounds of scalar factors, with the least L that is valid on all outcomes' box.

The functions are h_i (x - a_i)^2/2, h_i of either sign, and the noise of client i's head is s_i or
-s_i, that of u the root of the sum of their squares, or minus that. Expectations are exact, over
all outcomes: F is linear in who takes part, client by client, and its moments are known.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from linrep.claims import Cases
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.pflmf.model import Case
from linrep.theory.pflmf import sharp_constants


class Terms(NamedTuple):
    """What an inequality of a round is about; numbers or arrays."""

    eta: Any
    x: Any  # eta L
    p: Any
    K: int
    delta_U: Any  # expected squared gradients
    delta_V: Any
    value: Any  # F(U, V)
    after: Any  # E F(U+, V+)
    variance: Any  # sigma^2


def of_case(case: Case) -> Terms:
    """Return those of a round of :mod:`linrep.papers.pflmf.model`."""
    s, r = case.setting, case.round
    x, p, K = s.step_size * s.largest, s.participation, s.local_steps
    return Terms(s.step_size, x, p, K, r.delta_U, r.delta_V, r.value, r.after_both, s.noise**2)


class Rounds(NamedTuple):
    """Rounds of n clients and K local steps: numbers of shape (count,), and (count, n)."""

    K: int
    p: Array
    x: Array
    u: Array
    L: Array
    v: Array
    h: Array
    a: Array
    s: Array

    @property
    def eta(self) -> Array:
        """The step size; the heads' is p eta/K."""
        return self.x / self.L

    @property
    def variance(self) -> Array:
        """sigma^2, of the noise in u and of that of all heads."""
        return np.sum(self.s**2, axis=1)

    def heads(self):
        """Return the heads' factor and shift in a local step, and the noise that it adds."""
        step, u = (self.p * self.eta / self.K)[:, None], self.u[:, None]
        slope = self.h * u / self.v.shape[1]
        return 1.0 - step * slope * u, step * slope * self.a, step * self.s

    def gradient(self) -> Array:
        """Return that in u."""
        return np.mean(self.h * (self.u[:, None] * self.v - self.a) * self.v, axis=1)

    def needed(self) -> Array:
        """Return the L that is valid on the box of all outcomes, if this L is not below it."""
        n, noise = self.v.shape[1], np.sqrt(self.variance)
        after = self.u - self.eta * self.gradient()
        low_u = np.minimum(self.u, after - self.eta * noise)
        high_u = np.maximum(self.u, after + self.eta * noise)
        factor, shift, add = self.heads()
        low = high = least = most = self.v
        for _ in range(self.K):
            low, high = factor * low + shift - add, factor * high + shift + add
            least, most = np.minimum(least, low), np.maximum(most, high)
        squares = np.maximum(least**2, most**2)
        own_u = np.maximum(
            np.sum(np.maximum(self.h, 0.0) * squares, axis=1),
            np.sum(np.maximum(-self.h, 0.0) * squares, axis=1),
        )
        own_v = np.max(np.abs(self.h), axis=1) * np.maximum(low_u**2, high_u**2)
        corners = [
            np.abs(2.0 * at[:, None] * head - self.a)
            for at in (low_u, high_u)
            for head in (least, most)
        ]
        mixed = np.sqrt(np.sum((self.h * np.max(corners, axis=0)) ** 2, axis=1))
        return np.max([own_u, own_v, mixed], axis=0) / n

    def expected(self) -> Terms:
        """Return exact expectations."""
        p, n = self.p[:, None], self.v.shape[1]
        factor, shift, add = self.heads()
        mean, spread, u = self.v, 0.0 * self.v, self.u[:, None]
        moving = np.zeros_like(self.v)
        first = (self.h * u * (u * mean - self.a) / n) ** 2
        for _ in range(self.K):
            slope = self.h * u / n
            moving += (slope * (u * mean - self.a)) ** 2 + (slope * u) ** 2 * spread
            mean, spread = factor * mean + shift, factor**2 * spread + add**2
        in_u = self.gradient()
        after = (self.u - self.eta * in_u)[:, None]
        spread_u = (self.eta**2 * self.variance)[:, None]

        def value(heads, spread):
            more = spread_u * (heads**2 + spread) + after**2 * spread
            return (after * heads - self.a) ** 2 + more

        both = p * value(mean, spread) + (1.0 - p) * value(self.v, 0.0)
        return Terms(
            self.eta,
            self.x,
            self.p,
            self.K,
            in_u**2,
            np.sum(p * moving / self.K + (1.0 - p) * first, axis=1),
            np.mean(self.h * (u * self.v - self.a) ** 2, axis=1) / 2.0,
            np.mean(self.h * both, axis=1) / 2.0,
            self.variance,
        )

    def rounding(self, terms: Terms) -> Array:
        """Return what rounding may do to the decrease of F: u v_i - a_i may cancel."""
        x = self.u[:, None] * self.v
        sizes, errors = np.abs(x) + np.abs(self.a), np.abs(x - self.a)
        cancels = np.mean(np.abs(self.h) * sizes * (errors + 1e-13 * sizes), axis=1)
        return 1e-13 * (np.abs(terms.value) + np.abs(terms.after) + cancels)


def drawn(rng, n: int, K: int, count: int, noisy: bool) -> Rounds:
    """Return those of so many random rounds for which a valid L is found."""
    shape = count, n
    convex = rng.random(count)[:, None] < 0.6
    h = np.where(convex, rng.uniform(0.1, 1.0, shape), rng.uniform(-1.0, 1.0, shape))
    far = rng.choice([1.0, 1.0, 30.0], count)
    u = rng.standard_normal(count) + far
    v = rng.standard_normal(shape) + (far * rng.integers(0, 2, count))[:, None]
    near = rng.random(count)[:, None] < 0.6
    a = near * u[:, None] * v + rng.standard_normal(shape) * rng.choice(
        [0.1, 1.0, 10.0], (count, 1)
    )
    s = noisy * rng.random(shape) * rng.choice([0.1, 1.0, 10.0], (count, 1))
    p = rng.choice([0.05, 0.3, 0.5, 0.7, 0.9, 1.0], count)
    x = rng.choice([0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0], count) / sharp_constants(p, K).slack
    rounds = Rounds(K, p, x, u, np.full(count, 1e12), v, h, a, s)
    rounds = rounds._replace(L=rounds.needed())  # that at the start
    for _ in range(60):
        needed = rounds.needed()
        rounds = rounds._replace(L=np.where(needed > rounds.L, 1.0001 * needed, rounds.L))
    valid = rounds.needed() <= rounds.L
    return Rounds(K, *(each[valid] for each in rounds[1:]))


def tried(rng, count: int, left_right, name: str) -> tuple[Cases, float]:
    """Return left <= right for so many random rounds or more, and the largest left over right.

    The latter of rounds that rounding is small for; of the former the worst are kept.
    """
    cases: list = []
    made = violations = 0
    largest = 0.0
    while made < count:
        for n, K, noisy in product((1, 2, 3), (1, 2, 3, 10), (False, True)):
            rounds = drawn(rng, n, K, 100 if count < 10_000 else 2000, noisy)
            terms = rounds.expected()
            left, right = left_right(terms)
            size = np.abs(left) + np.abs(right) + 1e-300
            room = rounds.rounding(terms)
            made += len(left)
            violations += int(np.sum(left > right + room))
            clear = (size > 1e6 * room) & (right > 0.0)
            largest = max(largest, float(np.max(left[clear] / right[clear])))
            for i in np.argsort((left - right - room) / size)[-3:]:
                at = {key: each[i].tolist() for key, each in rounds._asdict().items() if key != "K"}
                cases.append((left[i] / size[i], (right[i] + room[i]) / size[i], {"K": K, **at}))
    found = Cases(
        cases,
        quantity="left side over the sum of both",
        name=name,
        strength=PROVED,
        count=made,
        violations=violations,
        shown=("K", "p", "x"),
    )
    return found, largest
