"""Which walks the checks enumerate, and states at the limits of the event."""

import numpy as np
import pytest

from linrep.papers.perfedsi import _enumeration as enumeration
from linrep.papers.perfedsi import _states as states
from linrep.theory.perfedsi_rounds import Walks, sequences


def test_sequences_are_all_or_balanced(fresh_rng):
    assert len(enumeration.items_for(3, 2, 9, fresh_rng)) == 9
    assert len(enumeration.items_for(3, 3, 9, fresh_rng)) == 9


def test_families_are_at_their_limits():
    state = states.unbalanced(4.0, 2.0)
    assert np.linalg.norm(state.V, 2) == pytest.approx(4.0)
    assert state.truth.singular_values.tolist() == pytest.approx([1.0, 0.5])
    limits = enumeration.start_of(state).limits()
    assert limits.errors == pytest.approx(1.0)
    assert limits.c == pytest.approx(4.0)
    edge, limits = states.edge(4)
    walks = Walks(edge, sequences(4, 1), 1e-5)
    assert walks.kept(limits, 0).all()
    assert walks.kept(limits, 1).sum() == 2
    aligned = states.aligned(3, 4)
    assert np.linalg.matrix_rank(aligned.truth.Z) == 3
    assert np.allclose(np.sum(aligned.truth.Z**2, axis=1), 3.0)
