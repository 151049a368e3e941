"""The public calls of pFL^MF against their naive twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linrep import kernels
from tests.reference import fedrep, pflmf
from tests.strategies import arguments, head_steps, participants_of, problems


def check_pflmf(found, U, V, gradients, selected, step_size, steps):
    count, size = steps or (1, step_size)
    expected, path = pflmf.algorithm_1(U, V, gradients, selected, step_size, size, count)
    np.testing.assert_allclose(found.U, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.V, path[-1], rtol=1e-9, atol=1e-9)


@given(problems, st.floats(1e-3, 0.1), head_steps, st.data())
def test_a_round_of_pflmf_on_samples_is_the_papers(case, step_size, steps, data):
    participants = participants_of(case, data)
    selected = list(range(case.n) if participants is None else participants)
    found = kernels.pflmf_round(
        *arguments(case), case.B, case.W, step_size=step_size, head_steps=steps,
        participants=participants,
    )  # fmt: skip
    gradients = [lambda x, X=X, y=y: X.T @ (X @ x - y) / len(y) for X, y in case.clients]
    check_pflmf(found, case.B, case.W, gradients, selected, step_size, steps)
    losses = [fedrep.client_loss(*case.clients[i], case.B, case.W[i]) for i in selected]
    np.testing.assert_allclose(found.loss, np.mean(losses), rtol=1e-9, atol=1e-9)


@given(
    problems, st.floats(1e-3, 0.1), head_steps, st.sampled_from(["none", "one", "own"]), st.data()
)
def test_a_round_of_pflmf_on_quadratic_functions_is_the_papers(case, step_size, steps, kind, data):
    participants = participants_of(case, data)
    selected = list(range(case.n) if participants is None else participants)
    A = case.rng.standard_normal((case.n, case.d))
    H = case.rng.standard_normal((case.n, case.d, case.d))
    H = H + H.swapaxes(1, 2)
    matrices = {"none": [np.eye(case.d)] * case.n, "one": [H[0]] * case.n, "own": H}[kind]
    found = kernels.pflmf_quadratic_round(
        A, case.B, case.W, step_size=step_size, head_steps=steps, participants=participants,
        H={"none": None, "one": H[0], "own": H}[kind],
    )  # fmt: skip
    gradients = [lambda x, a=a, M=M: M @ (x - a) for a, M in zip(A, matrices, strict=True)]
    check_pflmf(found, case.B, case.W, gradients, selected, step_size, steps)
    models = case.W @ case.B.T
    losses = [0.5 * (models[i] - A[i]) @ gradients[i](models[i]) for i in selected]
    np.testing.assert_allclose(found.loss, np.mean(losses), rtol=1e-9, atol=1e-9)
