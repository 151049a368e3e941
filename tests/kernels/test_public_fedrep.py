"""The public calls of FedRep against their naive twins."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import cond, norm

from linrep import kernels
from tests.compare import check_round, heads_are_clear, is_lost
from tests.reference import fedrep, subspace
from tests.strategies import arguments, head_steps, participants_of, problems
from tests.tools import EPS, UNITS, close, complaint, exact_head_error, metric_errors, rank_is_clear


@given(problems, st.floats(1e-3, 0.5), head_steps, st.data())
def test_a_round_of_fedrep_is_the_papers(case, step_size, steps, data):
    participants = participants_of(case, data)
    selected = range(case.n) if participants is None else participants
    options = {
        "step_size": step_size,
        "local_steps": steps and steps[0],
        "head_step_size": steps and steps[1],
        "orthonormal": True,
    }
    before = case.B, case.W
    assume(heads_are_clear(case.clients, selected, case.B, options))
    assume(not is_lost(before, case.clients, selected, options))
    B, W, loss = kernels.fedrep_round(
        *arguments(case), *before, step_size=step_size, head_steps=steps, participants=participants
    )
    check_round(before, (B, W), {"loss": loss}, case.clients, selected, options, None)


@given(problems)
def test_heads_are_least_squares(case):
    assume(all(rank_is_clear(X @ case.B) for X, _ in case.clients))
    W = kernels.fit_heads(*arguments(case), case.B)
    for (X, y), w in zip(case.clients, W, strict=True):
        expected = fedrep.head_least_squares(X, y, case.B)
        close(w, expected, exact_head_error(X @ case.B, y, expected))


@given(problems)
def test_the_gradient_is_the_mean_of_the_clients(case):
    found = kernels.gradient(*arguments(case), case.B, case.W)
    each = [(X, y, case.B, w) for (X, y), w in zip(case.clients, case.W, strict=True)]
    sizes = [norm(X) * norm(B) * norm(w) + norm(y) for X, y, B, w in each]
    slopes = [norm(X) * norm(w) for X, _, _, w in each]
    close(
        found.B,
        np.mean([fedrep.client_gradient(*one) for one in each], axis=0),
        UNITS * EPS * np.dot(sizes, slopes),
    )
    expected = np.mean([fedrep.client_loss(*one) for one in each])
    close(found.loss, expected, UNITS * EPS * max(sizes) ** 2)


@given(problems)
def test_the_distance_is_that_of_the_definition(case):
    assume(cond(case.B) < 1e8)
    error = metric_errors(case.B, case.W, case.W_star, EPS * norm(case.B), 0.0)["distance"]
    close(kernels.distance(case.B, case.B_star), subspace.distance(case.B, case.B_star), error)
    close(kernels.distance(case.B_star, case.B), subspace.distance(case.B_star, case.B), error)


@given(problems)
def test_the_moments_start_has_the_leading_eigenvectors(case):
    B = kernels.moments_start(*arguments(case), case.k)
    M = fedrep.moments_matrix(case.clients)
    leading = np.linalg.eigvalsh(M)[::-1][: case.k]
    error = UNITS * EPS * norm(M)
    close(B.T @ B, np.eye(case.k), UNITS * EPS)
    close(M @ B, B * leading, error)


def test_no_samples_are_refused_as_such():
    nothing = np.empty((0, 3)), np.empty(0), np.array([0, 0])
    with complaint(ValueError, "X ", "positive", "(0, 3)"):
        kernels.fit_heads(*nothing, np.eye(3)[:, :1].copy())
