"""Rounds in fractions are those of floating point, and leave the event where these do."""

from fractions import Fraction

import numpy as np
import pytest

from linrep.papers.perfedsi import privacy
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import Limits, State, Walks, sequences
from tests.papers.perfedsi import exact as _exact

STATES = (
    (_exact.of_sides(Fraction(4)), 4, 2),
    (_exact.of_items(Fraction(2)), Fraction(21, 10), 8),
    (_exact.edge(), 1, Fraction(11, 10)),
    (_exact.many_sides(), Fraction(102, 100), Fraction(12, 10)),
    (_exact.fitting(16, Fraction(1, 2))[0], 2, 1),
    (_exact.stuck()[0], 1, 3),
)


@pytest.mark.parametrize(("exact", "c", "mu"), STATES)
def test_a_round_is_that_of_floating_point(exact, c, mu):
    star_U, star_V, Z, U, V = (
        part.astype(float) for part in (exact.star_U, exact.star_V, exact.Z, exact.U, exact.V)
    )
    truth = SideInformationCompletion(star_U[:, None], star_V[:, None], Z)
    state = State(truth, U[:, None], V[:, None])
    np.testing.assert_allclose(truth.singular_values, 1.0)
    assert float(exact.loss()) == pytest.approx(state.loss, rel=1e-9)
    for found, expected in zip(
        exact.gradient(), theory.loss_and_gradients(truth, state.U, state.V)[1:], strict=True
    ):
        np.testing.assert_allclose(found.astype(float), expected[:, 0], atol=1e-12)
    eta = 1e-3
    walks = Walks(state, sequences(len(U), 1), eta)
    limits = _exact.Limits(Fraction(c), Fraction(mu))
    # Rounding does not decide at the limits themselves.
    room = 1.0 + 1e-12
    kept = walks.kept(Limits(float(c) * room, float(mu) * room, float(mu) * room), 1)
    for client, walk in enumerate(exact.round(Fraction(1, 1000), limits)):
        for item, (after_U, after_V, good) in enumerate(walk):
            np.testing.assert_allclose(
                after_U.astype(float), walks.U[1][client, item, :, 0], atol=1e-12
            )
            np.testing.assert_allclose(
                after_V.astype(float), walks.V[1][client, item, :, 0], atol=1e-12
            )
            assert good == bool(kept[client, item])


def test_an_update_is_that_of_local_steps(fresh_rng):
    update = privacy._update(fresh_rng, 3)
    U, V = update.U.copy(), update.V.copy()
    for item, rating in zip(update.items, update.ratings, strict=True):
        e = np.eye(len(U))[item]
        residual = e @ U @ V.T @ update.z - rating
        U, V = (
            U - 0.1 * residual * np.outer(e, V.T @ update.z),
            V - 0.1 * residual * np.outer(update.z, U.T @ e),
        )
    np.testing.assert_allclose(U, update.after_U)
    np.testing.assert_allclose(V, update.after_V)
    noisy = privacy._noisy(update, 2.0, fresh_rng)
    assert (noisy.after_U == update.after_U).all()
    assert np.linalg.norm(noisy.after_V - V) > 0.1 * np.linalg.norm(V - update.V)
