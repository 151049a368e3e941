import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import linrep as lr
from linrep.algorithms.baselines import alternating
from tests.algorithms.support import own
from tests.reference import baselines as reference
from tests.strategies import cases


@pytest.mark.parametrize("largest", [alternating._DENSE, 0], ids=["written out", "LSQR"])
@given(case=cases(orthonormal=True, noise=(0.1,)), ridge=st.sampled_from([0.0, 0.3, 5.0]))
def test_a_round_reaches_the_objective_of_the_naive_one(largest, case, ridge):
    """Where a solution is not unique, all have the same objective in B; heads may then differ."""
    penalties = np.full(case.n, ridge)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alternating, "_DENSE", largest)
        trace = lr.alternating_least_squares(
            own(case), k=case.k, ridge=ridge, rounds=1, start=case.B
        )
    B, W = trace.state["B"], trace.state["W"]
    np.testing.assert_allclose(B.T @ B, np.eye(case.k), atol=1e-12)
    found = reference.objective(case.clients, W @ B.T, penalties)
    assert trace["objective"][-1] == pytest.approx(found, rel=1e-9, abs=1e-18)
    loss = reference.objective(case.clients, W @ B.T, np.zeros(case.n))
    assert trace["loss"][-1] == pytest.approx(loss, rel=1e-9, abs=1e-18)
    heads = lr.fit_heads(own(case), case.B, ridge=ridge)
    first = reference.objective(case.clients, heads @ case.B.T, penalties)
    assert trace["objective"][0] == pytest.approx(first, rel=1e-9, abs=1e-18)
    # The naive round has a unique B where all columns of the design are seen, and only then.
    X, weights = case.X, np.repeat(1.0 / np.diff(case.offsets), np.diff(case.offsets))
    rows = np.einsum("sd,sk->sdk", X, np.repeat(heads, np.diff(case.offsets), axis=0))
    rows = rows.reshape(len(X), -1) * np.sqrt(weights)[:, None]
    values = np.linalg.svd(rows, compute_uv=False)
    assume(len(X) >= case.d * case.k and values[-1] > 1e-4 * values[0])
    B, W = reference.alternating_round(case.clients, case.B, penalties)
    expected = reference.objective(case.clients, W @ B.T, penalties)
    assert trace["objective"][-1] == pytest.approx(expected, rel=1e-6, abs=1e-12)


@given(cases(), st.sampled_from([0.0, 0.3, 5.0]), st.integers(0, 12))
def test_the_objective_never_increases(case, ridge, rounds):
    trace = lr.alternating_least_squares(own(case), k=case.k, ridge=ridge, rounds=rounds)
    assert (np.diff(trace["objective"]) <= 0).all()
    assert trace.rounds == rounds or trace.stop_reason == "converged"
    assert list(trace) == ["loss", "objective", "samples"]


def test_heads_without_signal_leave_directions_open():
    """All labels zero: heads are zero, and no B is better than another."""
    data = lr.ClientData.from_list([(np.eye(3), np.zeros(3))] * 3)
    trace = lr.alternating_least_squares(data, k=2, start="random", rng=0)
    assert (trace["loss"] == 0).all()
    np.testing.assert_array_equal(trace.state["W"], np.zeros((3, 2)))
