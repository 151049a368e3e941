"""Counterexamples in fractions are what their statements say, by a round written another way."""

from fractions import Fraction

import numpy as np
import pytest

from linrep.claims.counterexamples import evaluate as sides_in
from linrep.claims.counterexamples import path_of
from linrep.papers.perfedsi.counterexamples import (
    definition3_1,
    definitionc3,
    eq61,
    eq63_64,
    lemmac5,
    lemmac7,
    lemmac8_indicators,
    lemmac10,
    lemmac11,
    privacy,
    theoremc4,
)
from linrep.theory import perfedsi as theory
from tests.papers.perfedsi import exact


def falls(state, limits, eta, rounds):
    """Return by what share the loss falls in rounds of one step, all of them regular."""
    ends = [(state.U, state.V)]
    for _ in range(rounds):
        following = []
        for U, V in ends:
            level = state.loss(U, V)
            for item in range(len(U)):
                after = state.step(0, item, eta, U, V)
                assert state.regular(0, *after, limits, level)
                following.append(after)
        ends = following
    return 1 - sum(state.loss(U, V) for U, V in ends) / len(ends) / state.loss()


@pytest.mark.parametrize(("module", "rounds"), [(lemmac11, 1), (theoremc4, 2)])
def test_the_loss_falls_by_less_than_is_promised(module, rounds):
    c = Fraction(32)
    limits = exact.Limits(c * Fraction(1001, 1000), 2 * c**2)
    for c_power, limit_power in ((1, 5), (2, 7)):
        eta = 1 / (132 * limits.mu**2 * limits.c**limit_power)
        promised, fall = module.sides(c_power, limit_power)
        assert promised == eta / (32 * limits.c**c_power)
        assert fall == falls(exact.of_items(c), limits, eta, rounds)
        assert (promised > fall) == (c_power == 1)


def test_a_gradient_at_the_regions_edge():
    state = exact.of_items(Fraction(10000, 1001), error=Fraction(1, 1000))
    in_U, in_V = state.gradient()
    assert lemmac5.sides() == (state.loss() / 10, in_U @ in_U + in_V @ in_V)
    error = Fraction(1, 100)
    state = exact.of_sides(Fraction(1), error=-error)
    in_U, in_V = state.gradient()
    assert eq61.sides(error) == (in_U @ in_U + in_V @ in_V, state.loss() ** 2)


def test_the_square_of_a_move():
    state, eta = exact.of_sides(Fraction(4)), Fraction(1, 1000)
    (walk,) = state.round(eta, exact.Limits(Fraction(4), Fraction(2)))
    assert all(kept for *_, kept in walk)
    left, right = lemmac7.sides(2, 3)
    assert left == sum(sum((U - state.U) ** 2) for U, *_ in walk) / 16
    setting = theory.Setting(d=16, p=1, k=1, c=4.0)
    loss = float(state.loss())
    bound, _ = theory.second_moments(
        setting,
        step_size=1e-3,
        local_steps=1,
        participants=1,
        loss=loss,
        factor=2.0,
        norm_power=2.0,
        loss_power=1.0,
    )
    assert float(right) == pytest.approx(float(bound))


def test_items_that_lead_out():
    state, eta = exact.edge(20), Fraction(1, 10**9)
    limits = exact.Limits(Fraction(1), Fraction(11, 10))
    (walk,) = state.round(eta, limits)
    share = Fraction(sum(kept for *_, kept in walk), 16)
    parts = [
        sum((before - end[place]) / eta * end[2] for end in walk) - share * gradient
        for place, (before, gradient) in enumerate(
            zip((state.U, state.V), state.gradient(), strict=True)
        )
    ]
    left, right = lemmac10.sides()
    squares = share**38 * sum(sum(part**2) for part in parts)
    assert left**2 <= squares < (left + Fraction(1, lemmac10.DIGITS)) ** 2
    squares = limits.mu**3 * state.loss()
    over = right / (10 * eta / 16)
    assert (over - Fraction(1, lemmac10.DIGITS)) ** 2 <= squares < over**2
    state = exact.edge(20, eta)
    (walk,) = state.round(eta, limits)
    start = state.gradient()[1]
    moved = [state.gradients(0, U, V)[1] - start for U, V, _ in walk]
    kept = [good for *_, good in walk]
    smaller = sum(step for step, good in zip(moved, kept, strict=True) if good)
    ends = Fraction(sum(kept), 16) ** 19 * abs(smaller) / 16, abs(sum(moved)) / 16
    assert lemmac8_indicators.sides() == tuple(end[0] for end in ends)
    state, limits = exact.stuck()
    (walk,) = state.round(Fraction(1, 10**6), limits)
    share = Fraction(sum(kept for *_, kept in walk), 16)
    left = sum(state.loss(U, V) for U, V, kept in walk if kept) / 16
    assert share == Fraction(1, 2)
    assert eq63_64.sides() == (Fraction(1, 32 * 10**6), 1 - left / (share * state.loss()))
    assert eq63_64.sides(before=1)[1] == 1 - left / state.loss()


@pytest.mark.parametrize("d", [16, 64])
@pytest.mark.parametrize("c_0", [Fraction(1, 2), Fraction(1, 1000)])
def test_a_row_is_left_of_the_error(d, c_0):
    state, limits = exact.fitting(d, c_0)
    assert definitionc3.sides(d, c_0=c_0) == (d / 2, limits.mu)
    still, moved = state.round(Fraction(d), limits)
    assert all(kept for walk in (still, moved) for *_, kept in walk)
    for U, V, _ in moved:
        E = (np.outer(U, V) - np.outer(state.star_U, state.star_V)).astype(float)
        assert theory.incoherence(E) == pytest.approx(d / 2)


@pytest.mark.parametrize("d", [16, 64])
@pytest.mark.parametrize("root", [Fraction(2, 3), Fraction(12, 17)])
def test_a_client_shrinks_in_the_event(d, root):
    state, _ = exact.fitting(d, Fraction(1))
    K = 1 / (1 - 2 * root**2)
    limits = exact.Limits(Fraction(2), min(Fraction(d), K**2), Fraction(1, 8 * d))
    U, V = state.U, exact.fractions([1, root * state.U[0]])
    level = state.loss(U, V)
    assert level <= limits.c_0
    for item in (None, *range(d)):
        if item is not None:
            U, V = state.step(1, item, Fraction(2 * d), U, V)
        assert state.regular(1, U, V, limits, level)
    still = state.step(0, 0, Fraction(2 * d), state.U, exact.fractions([1, root * state.U[0]]))
    assert list(still[0]) == list(state.U)
    left, right = definition3_1.sides(d, root)
    assert left == K
    assert left**2 <= (V @ V) / (U @ U) < (1 + Fraction(1, d)) * left**2
    assert float(right) == pytest.approx(4 / (1 - (8 * float(limits.c_0)) ** 0.5))


def test_both_signs_give_the_same_update():
    """Of z and the rating: what the server can know is z up to its sign."""
    star_V, V = exact.fractions([1, 0, 0]), exact.fractions([1, 1, 2]) / 2
    z, eta = exact.fractions([1, 2, 2]) / 3, Fraction(1, 10)
    updates = []
    for sign in (1, -1):
        state = exact.Exact(exact.FRAME, star_V, sign * z[None], exact.FRAME.copy(), V)
        U, after = state.step(0, 3, eta)
        updates.append((list(U), list(after)))
    assert updates[0] == updates[1]
    found = (V - exact.fractions(updates[0][1])) @ z
    assert found != 0
    assert privacy.sides() == (2, 1)


def test_side_information_of_one_number():
    for name, left, right in (
        ("perfedsi.benefit", 8000, 1000),
        ("perfedsi.lower_bound", 20 * 100**1.5 * 2, 2 * 10_020),
        (
            "perfedsi.remark2.2.linear",
            min(8 * (V - 1) ** 2 + 8 * (2 * V - 1) ** 2 for V in np.linspace(0, 1, 11)),
            0,
        ),
    ):
        found = sides_in(path_of(name))
        assert [float(side) for side in found] == pytest.approx([left, right])
