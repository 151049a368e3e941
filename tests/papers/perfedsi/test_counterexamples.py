"""Counterexamples in fractions are what their statements say, by rounds in floating point."""

from fractions import Fraction

import numpy as np
import pytest

from linrep.claims.counterexamples import evaluate, path_of
from linrep.papers.perfedsi.counterexamples import (
    definition3_1,
    definitionc3,
    eq61,
    eq63_64,
    lemmac5,
    lemmac7,
    lemmac10,
    lemmac11_and_theoremc4,
    privacy,
)
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import Limits, Walks, progress, progress_of_rounds, sequences
from tests.papers.perfedsi import states


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize(("c_power", "limit_power"), [(1, 5), (2, 7)])
def test_the_loss_falls_by_less_than_is_promised(rounds, c_power, limit_power):
    limits = Limits(32.032, 2048.0, 2048.0)
    eta = 1.0 / (132.0 * limits.rows**2 * limits.c**limit_power)
    state, items = states.of_items(32.0), sequences(states.ITEMS, 1)
    if rounds == 1:
        fall, chance = progress(Walks(state, items, eta), limits)
    else:
        fall, chance = progress_of_rounds(state, limits, items, eta, rounds)
    assert chance == 1.0
    promised, exact = lemmac11_and_theoremc4.sides(c_power, limit_power, rounds)
    assert float(promised) == pytest.approx(eta / (32.0 * limits.c**c_power))
    assert float(exact) == pytest.approx(fall, rel=1e-6)
    assert (promised > exact) == (c_power == 1)


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (states.of_items(10000 / 1001, error=1e-3), lemmac5.sides()),
        (states.of_sides(1.0, error=-0.01), eq61.sides(Fraction(1, 100))),
    ],
)
def test_a_gradient_beside_the_loss(state, found):
    square = sum(np.sum(part**2) for part in state.gradients)
    if found == lemmac5.sides():
        assert list(map(float, found)) == pytest.approx([state.loss / 10, square])
    else:
        assert list(map(float, found)) == pytest.approx([square, state.loss**2])


def test_the_square_of_a_move():
    state, limits = states.of_sides(4.0), Limits(4.0 * states.ROOM, 2.0, 2.0)
    walks = Walks(state, sequences(states.ITEMS, 1), 1e-3)
    assert walks.kept(limits, 1).all()
    bound, _ = theory.second_moments(
        theory.Setting(d=16, p=1, k=1, c=4.0), step_size=1e-3, local_steps=1, participants=1,
        loss=state.loss, factor=2.0, norm_power=2.0, loss_power=1.0,
    )  # fmt: skip
    expected = [walks.moments(limits, 1)[0], float(bound)]
    assert list(map(float, lemmac7.sides(2, 3))) == pytest.approx(expected)


def test_items_that_lead_out():
    state, limits = states.edge(20)
    walks = Walks(state, sequences(states.ITEMS, 1), 1e-9)
    size, chance = walks.summed(limits, future=True)
    assert chance == pytest.approx(0.5**20)
    left, right = map(float, lemmac10.sides())
    assert left == pytest.approx(size, rel=1e-6)
    assert right == pytest.approx(10e-9 / 16 * limits.rows**1.5 * state.loss**0.5)
    # Half of the items do not move, the others lead out.
    low, high, size = 39599, 40399, 40001
    star = np.resize([low, high], states.ITEMS) / (4 * size)
    state = states.state(star, low / size * states.FRAME, [1.0], clients=20)
    walks = Walks(state, sequences(states.ITEMS, 1), 1e-6)
    kept = walks.kept(Limits(states.ROOM, 3.0, 3.0), 1)
    assert (kept.mean(axis=1) == 0.5).all()
    moved = [np.abs(part * kept[..., None, None]).max() for part in walks.shifts[1]]
    assert max(moved) <= 1e-12
    assert eq63_64.sides() == (Fraction(1, 32 * 10**6), 0)
    assert eq63_64.sides(before=1)[1] == Fraction(1, 2)


@pytest.mark.parametrize("d", [16, 64])
@pytest.mark.parametrize("c_0", [Fraction(1, 2), Fraction(1, 1000)])
def test_a_row_is_left_of_the_error(d, c_0):
    state = states.fitting(d, float(min(Fraction(1, d), c_0)))
    walks = Walks(state, sequences(d, 1), float(d))
    # The fitted error is rounding, whose rows are not alike: its limit is not looked at.
    assert walks.kept(Limits(2.0 + 1e-9, 1.0 + 1e-9, np.inf), 1).all()
    assert definitionc3.sides(d, c_0=c_0) == (d / 2, 1)
    for U, V in zip(walks.U[1][-1], walks.V[1][-1], strict=True):
        assert theory.incoherence(U @ V.T - state.truth.M) == pytest.approx(d / 2)


@pytest.mark.parametrize("d", [16, 64])
@pytest.mark.parametrize("root", [Fraction(2, 3), Fraction(12, 17)])
def test_a_client_shrinks_in_the_event(d, root):
    ratio, mu = float(1 / (1 - 2 * root**2)), float(min(d, 1 / (1 - 2 * root**2) ** 2))
    state = states.fitting(d, float(root) * d**-0.5)
    assert state.loss <= 1.0 / (8.0 * d)
    walks = Walks(state, np.arange(d)[None], 2.0 * d)
    assert walks.kept(Limits(2.0 + 1e-9, 1.0 + 1e-9, mu + 1e-6), d).all()
    still, moved = (
        np.linalg.norm(walks.V[d][client, 0]) / np.linalg.norm(walks.U[d][client, 0])
        for client in (0, -1)
    )
    left, right = map(float, definition3_1.sides(d, root))
    assert left == pytest.approx(ratio)
    assert left <= moved < (1 + 1 / d) ** 0.5 * left
    assert still < right == pytest.approx(4.0 / (1.0 - d**-0.5))


def test_both_signs_give_the_same_update():
    """Of z and the rating: what the server can know is z up to its sign."""
    z, updates = np.array([1.0, 2.0, 2.0]) / 3.0, []
    for sign in (1.0, -1.0):
        state = states.state(
            states.FRAME, states.FRAME, [0.5, 0.5, 1.0], star_V=(1.0, 0, 0), Z=sign * z[None]
        )
        updates.append(Walks(state, np.array([[3]]), 0.1).shifts[1])
    np.testing.assert_array_equal(updates[0][0], updates[1][0])
    np.testing.assert_array_equal(updates[0][1], updates[1][1])
    assert np.abs(updates[0][1]).max() > 0.0
    assert privacy.sides() == (2, 1)


def test_side_information_of_one_number():
    for name, expected in (
        ("perfedsi.benefit", [8000, 1000]),
        ("perfedsi.lower_bound", [20 * 100**1.5 * 2, 2 * 10_020]),
        ("perfedsi.remark2.2.linear", [8 * 0.4**2 + 8 * 0.2**2, 0]),
    ):
        assert [float(side) for side in evaluate(path_of(name))] == pytest.approx(expected)
