"""FedRep's round as the paper's Appendix B writes it, of noiseless labels and orthonormal B."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import norm, svd

import linrep as lr
from tests.reference import fedrep as reference
from tests.strategies import cases
from tests.tools import (
    EPS,
    UNITS,
    close,
    condition,
    exact_head_error,
    frame_error,
    rank_is_clear,
    round_errors,
)

step_sizes = st.floats(1e-3, 1.0)
SAME_BATCH = {"local_steps": None, "normalization": "theorem"}


@given(cases(noise=(0.0,), orthonormal=True, m=(4, 9), k=(1, 4), kinds=("normal",)))
def test_lemma_1_and_q_b_is_minus_f(case):
    """W = W* B*'B - F with rows f_i = G_i^-1 (G_i D - C_i) w_i*, and Q B = W - W* B*'B = -F."""
    W = lr.fit_heads(case.data, case.B)
    F = reference.lemma1_rows([X for X, _ in case.clients], case.B, case.W_star, case.B_star)
    Q = W @ case.B.T - case.W_star @ case.B_star.T
    for i, (X, y) in enumerate(case.clients):
        # Inverting G_i costs its condition number, that of X_i B squared.
        size = norm(W[i]) + norm(case.W_star[i]) * condition(X @ case.B) ** 2
        error = exact_head_error(X @ case.B, y, W[i]) + UNITS * EPS * size * condition(X @ case.B)
        close(W[i], case.W_star[i] @ case.B_star.T @ case.B - F[i], error)
        close(Q[i] @ case.B, -F[i], error)


@given(cases(noise=(0.0,), orthonormal=True, ragged=False), step_sizes, st.data())
def test_equations_13_to_16_are_the_clients_round(case, step_size, data):
    """For the clients of a round, all or some: I is what the equations call [rn]."""
    selected = case.rng.permutation(case.n)[: data.draw(st.integers(1, case.n), label="rn")]
    clients = [case.clients[i] for i in selected]
    W_star = case.W_star[selected]
    assume(all(rank_is_clear(X @ case.B) for X, _ in clients))
    B_bar, B_next, W = reference.round_operator_form(
        clients, case.B, W_star, case.B_star, step_size
    )
    assume(case.k <= len(clients))
    some = lr.ClientData.from_list(clients)
    run = {"k": case.k, "start": case.B, "rounds": 1, "step_size": step_size, "rng": 0}
    raw = lr.fedrep(some, orthonormal=False, **run).state
    trace = lr.fedrep(some, **run).state
    head_errors, B_error, _ = round_errors(
        clients, case.B, W, W, range(len(clients)), step_size, SAME_BATCH
    )
    # One least-squares problem for all heads is conditioned like all clients together.
    values = np.concatenate([svd(X @ case.B, compute_uv=False) for X, _ in clients])
    values = values[values > 1e-9 * values.max()]
    joint = 1.0 + (values.max() / values.min()) ** 2 if values.size else 1.0
    assume(joint < 1e8)
    close(raw["W"], W, joint * head_errors.max())
    close(raw["B"], B_bar, joint * B_error)
    close(trace["B"], B_next, joint * frame_error(B_bar, B_error))
