"""What holds exactly in a round of FedRep, on rounds that linrep's kernels take.

Notation of the paper's Appendix B: heads W with rows w_i, Pi_i = X_i'X_i / m_i, Q and S with rows
q_i = B w_i - B* w_i* and s_i = Pi_i q_i, F of Lemma 1, B_bar = B - (eta/rn) S'W = B_next R. Full
participation, noiseless labels and orthonormal B unless said otherwise.
"""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import norm, svd

import linrep as lr
from tests.reference import fedrep as reference
from tests.strategies import cases, frame, seeds
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

noiseless = cases(noise=(0.0,), orthonormal=True)
step_sizes = st.floats(1e-3, 1.0)
SAME_BATCH = {"local_steps": None, "normalization": "theorem"}


def one_round(case, step_size, orthonormal, B=None):
    """Return B and W after a round of linrep's FedRep."""
    trace = lr.fedrep(
        case.data, start=case.B if B is None else B, rounds=1, step_size=step_size,
        orthonormal=orthonormal, rng=0,
    )  # fmt: skip
    return trace.state["B"], trace.state["W"]


def factors(case, W):
    """Return Q and S."""
    Q = W @ case.B.T - case.W_star @ case.B_star.T
    S = np.array([X.T @ (X @ q) / len(y) for (X, y), q in zip(case.clients, Q, strict=True)])
    return Q, S


def errors(case, W, step_size):
    """Bound the rounding of heads and of B_bar."""
    everyone = range(case.n)
    head_errors, B_error, _ = round_errors(
        case.clients, case.B, case.W, W, everyone, step_size, SAME_BATCH
    )
    return head_errors, B_error


def normal_equations_error(X, y, B, w):
    """Bound the rounding of B's, which is what the normal equations of the head make zero."""
    Z = X @ B
    return UNITS * EPS * condition(Z) * norm(X, 2) * (norm(Z) * norm(w) + norm(y)) / len(y)


def heads_are_clear(case):
    return all(rank_is_clear(X @ case.B) for X, _ in case.clients)


@given(noiseless)
def test_s_is_orthogonal_to_b(case):
    """B's_i = B'Pi_i(B w_i - B* w_i*) is the gradient in w_i, zero where w_i minimizes."""
    assume(heads_are_clear(case))
    W = lr.fit_heads(case.data, case.B)
    _, S = factors(case, W)
    for (X, y), w, s in zip(case.clients, W, S, strict=True):
        close(s @ case.B, np.zeros(case.k), normal_equations_error(X, y, case.B, w))


@given(cases(orthonormal=False))
def test_the_gradient_is_orthogonal_to_b_with_noise_and_for_any_basis_too(case):
    assume(heads_are_clear(case))
    W = lr.fit_heads(case.data, case.B)
    for (X, y), w in zip(case.clients, W, strict=True):
        gradient = X.T @ (X @ case.B @ w - y) / len(y)
        error = normal_equations_error(X, y, case.B, w) * norm(case.B, 2)
        close(gradient @ case.B, np.zeros(case.k), error)


@given(cases(noise=(0.0,), orthonormal=True, m=(4, 9), k=(1, 4), kinds=("normal",)))
def test_lemma_1_and_q_b_is_minus_f(case):
    """W = W* B*'B - F with rows f_i = G_i^-1 (G_i D - C_i) w_i*, and Q B = W - W* B*'B = -F."""
    W = lr.fit_heads(case.data, case.B)
    F = reference.lemma1_rows([X for X, _ in case.clients], case.B, case.W_star, case.B_star)
    Q, _ = factors(case, W)
    for i, (X, y) in enumerate(case.clients):
        # Inverting G_i costs its condition number, that of X_i B squared.
        size = norm(W[i]) + norm(case.W_star[i]) * condition(X @ case.B) ** 2
        error = exact_head_error(X @ case.B, y, W[i]) + UNITS * EPS * size * condition(X @ case.B)
        close(W[i], case.W_star[i] @ case.B_star.T @ case.B - F[i], error)
        close(Q[i] @ case.B, -F[i], error)


@given(noiseless, step_sizes)
def test_b_bar_is_the_step_with_s_and_w(case, step_size):
    assume(heads_are_clear(case))
    B_bar, W = one_round(case, step_size, orthonormal=False)
    _, S = factors(case, W)
    head_errors, B_error = errors(case, W, step_size)
    curvature = max(norm(X, 2) ** 2 / len(y) for X, y in case.clients)
    error = B_error + UNITS * EPS * step_size * curvature * norm(W) * (norm(W) + norm(case.W_star))
    close(B_bar, case.B - step_size / case.n * S.T @ W, error)
    assert (head_errors >= 0.0).all()


@given(noiseless, step_sizes)
def test_r_is_at_least_the_identity(case, step_size):
    """R'R = B_bar'B_bar = I + (eta/rn)^2 W'SS'W as S B = 0; so R'R >= I and ||R^-1|| <= 1."""
    assume(heads_are_clear(case))
    B_bar, W = one_round(case, step_size, orthonormal=False)
    B_next, _ = one_round(case, step_size, orthonormal=True)
    _, S = factors(case, W)
    move = step_size / case.n * S.T @ W
    _, B_error = errors(case, W, step_size)
    error = UNITS * (B_error + EPS) * (norm(B_bar) + norm(move) + 1.0)
    close(B_bar.T @ B_bar, np.eye(case.k) + move.T @ move, error)
    assert np.linalg.eigvalsh(B_bar.T @ B_bar)[0] >= 1.0 - error
    R = B_next.T @ B_bar
    error = error + UNITS * frame_error(B_bar, B_error) * norm(B_bar)
    close(R.T @ R, np.eye(case.k) + move.T @ move, error * (1.0 + norm(B_bar)))
    assert 1.0 / svd(R, compute_uv=False)[-1] <= 1.0 + error


@given(cases(orthonormal=True, kinds=("normal",)), step_sizes, st.data())
def test_b_does_not_move_with_as_many_samples_as_directions_or_fewer(case, step_size, data):
    """Heads fit m <= k samples exactly, whatever the labels: no residual, no gradient."""
    m = data.draw(st.integers(1, case.k))
    pairs = [
        (case.rng.standard_normal((m, case.d)), case.rng.standard_normal(m)) for _ in range(case.n)
    ]
    few = lr.ClientData.from_list(pairs)
    assume(all(condition(X @ case.B) < 1e4 for X, _ in pairs))
    trace = lr.fedrep(
        few, k=case.k, start=case.B, rounds=3, step_size=step_size, orthonormal=True, rng=0
    )
    W = trace.state["W"]
    everyone = range(case.n)
    _, B_error, _ = round_errors(pairs, case.B, W, W, everyone, step_size, SAME_BATCH)
    close(trace.state["B"], case.B, 3 * frame_error(case.B, B_error))
    close(trace["loss"][1:], np.zeros(3), UNITS * max(norm(y) for _, y in pairs) ** 2 * 1e-15)


@given(noiseless, step_sizes)
def test_a_rotated_basis_takes_the_same_step(case, step_size):
    """B O: heads O'w, and B_bar O, so that span(B_next) depends on span(B) only."""
    assume(heads_are_clear(case))
    O = frame(case.rng, case.k, case.k)  # noqa: E741
    B_bar, W = one_round(case, step_size, orthonormal=False)
    B_bar_O, W_O = one_round(case, step_size, orthonormal=False, B=case.B @ O)
    head_errors, B_error = errors(case, W, step_size)
    close(W_O, W @ O, 4 * head_errors[:, None])
    close(B_bar_O, B_bar @ O, 4 * B_error)
    B_next, _ = one_round(case, step_size, orthonormal=True)
    B_next_O, _ = one_round(case, step_size, orthonormal=True, B=case.B @ O)
    close(lr.subspace.distance(B_next_O, B_next), 0.0, 4 * frame_error(B_bar, B_error))


@given(
    cases(noise=(0.0,), orthonormal=True, kinds=("normal",), heads=("normal",), d=(4, 8), k=(1, 3))
)
def test_on_a_second_batch_s_is_not_orthogonal_to_b(case):
    """The gradient's batch is then independent of the heads.

    Each of the nk entries of S B has a density; that all of them are below 1e-9 of their size has a
    probability of about 1e-9 or less.
    """
    W = lr.fit_heads(case.data, case.B)
    second = case.truth.draw(np.diff(case.offsets), rng=case.rng)
    Q, _ = factors(case, W)
    gram = [X.T @ X / len(X) for X, _ in map(second.client, range(case.n))]
    S = np.array([Pi @ q for Pi, q in zip(gram, Q, strict=True)])
    assert norm(S @ case.B) > 1e-9 * norm(S)


# Population: m = infinity, Pi_i = I, by samples whose second moment is the identity.


def population(rng, B_star, W_star):
    """Return data with X_i'X_i = m_i I."""
    d = len(B_star)
    truth = lr.SharedRepresentation(B_star, W_star)
    X = [np.sqrt(d) * frame(rng, d, d) for _ in W_star]
    pairs = [(Xi, Xi @ theta) for Xi, theta in zip(X, truth.theta, strict=True)]
    data = lr.ClientData.from_list(pairs)
    return lr.ClientData(data.X, data.y, data.offsets, truth=truth)


shares = st.floats(0.01, 1.0)
dimensions = st.tuples(st.integers(1, 5), st.integers(2, 7)).flatmap(
    lambda size: st.tuples(st.just(size[0]), st.just(size[1]), st.integers(1, min(*size, 3)))
)


@given(seeds, dimensions, shares, st.floats(0.05, 1.5))
def test_population_rounds_contract_at_least_as_fast_as_one_minus_eta_sigma_squared(
    seed, size, share, spread
):
    """dist' <= (1 - eta sigma_min^2 (1 - dist^2)) dist.

    With N = (I - BB')B* the round is B_bar = B + N M D', D = B'B*, M = eta W*'W*/n, so that
    B*_perp'B_bar = B*_perp'B (I - D M D'), R'R >= I, and the eigenvalues of D M D' lie between
    eta sigma_min^2 (1 - dist^2) and eta sigma_max^2 <= 1/4.
    """
    n, d, k = size
    rng = np.random.default_rng(seed)
    W_star = rng.standard_normal((n, k)) * np.exp(spread * rng.standard_normal(k))
    data = population(rng, frame(rng, d, k), W_star)
    largest, smallest = svd(W_star, compute_uv=False)[[0, -1]] / np.sqrt(n)
    step_size = share / (4.0 * largest**2)
    trace = lr.fedrep(data, start="random", rounds=8, step_size=step_size, rng=seed)
    distance = trace["distance"]
    bound = (1.0 - step_size * smallest**2 * (1.0 - distance[:-1] ** 2)) * distance[:-1]
    # A round adds rounding of the order of eps to a frame, whatever it contracts.
    assert (distance[1:] <= bound + UNITS * EPS * d).all()


@given(seeds, st.integers(1, 4), st.integers(2, 6), shares)
def test_population_rounds_of_rank_one_have_a_closed_form(seed, n, d, share):
    """With mu = eta |W*|^2/n and c^2 = 1 - s^2: s' = s (1 - mu c^2) / sqrt(1 + mu^2 s^2 c^2)."""
    rng = np.random.default_rng(seed)
    W_star = rng.standard_normal((n, 1))
    data = population(rng, frame(rng, d, 1), W_star)
    step_size = share / norm(W_star) ** 2 * n
    trace = lr.fedrep(data, start="random", rounds=6, step_size=step_size, rng=seed)
    s = trace["distance"]
    squared = (s**2 * (1.0 - s**2))[:-1]
    expected = s[:-1] * (1.0 - share * (1.0 - s[:-1] ** 2)) / np.sqrt(1.0 + share**2 * squared)
    close(s[1:], expected, UNITS * EPS * d)


@given(seeds, dimensions)
def test_population_heads_are_the_projected_truth(seed, size):
    """F of Lemma 1 vanishes: W = W* B*'B."""
    n, d, k = size
    rng = np.random.default_rng(seed)
    B_star, B, W_star = frame(rng, d, k), frame(rng, d, k), rng.standard_normal((n, k))
    W = lr.fit_heads(population(rng, B_star, W_star), B)
    close(W, W_star @ B_star.T @ B, UNITS * EPS * norm(W_star))


# The operator form of Appendix B.


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
