"""Participants drawn ahead are those drawn round by round, in bounded memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.algorithms import _schedule
from linrep.algorithms._schedule import Schedule


@given(st.data())
def test_participants_do_not_depend_on_how_many_rounds_are_drawn_at_a_time(data):
    n = data.draw(st.integers(1, 8), label="n")
    participants = data.draw(st.integers(1, n), label="participants")
    seed = data.draw(st.integers(0, 2**32), label="seed")
    drawn = []
    for name in ("ahead", "other ahead"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_schedule, "AHEAD", data.draw(st.integers(1, 9), label=name))
            schedule = Schedule(np.random.default_rng(seed), n, participants)
        rounds: list = []
        while len(rounds) < 12:
            some = schedule.next(data.draw(st.integers(1, 12 - len(rounds))))
            assert len(some)
            completed = data.draw(st.integers(1, len(some)))
            rounds.extend(some[:completed].copy())
            schedule.give_back(some, completed)
            schedule.restore(schedule.save())
        drawn.append(rounds)
    np.testing.assert_array_equal(*drawn)
    for row in drawn[0]:
        assert len(set(row)) == participants
        assert 0 <= min(row) <= max(row) < n


@pytest.mark.parametrize("participants", [1, 7, 100])
def test_many_participants_are_not_drawn_far_ahead(participants, monkeypatch):
    monkeypatch.setattr(_schedule, "AT_MOST", 50)
    schedule = Schedule(np.random.default_rng(0), 100, participants)
    assert len(schedule.next(1000)) == max(1, 50 // participants)
