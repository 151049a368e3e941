import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linrep.kernels import global_model as kernel
from linrep.kernels.fedrep import Samples
from tests.compare import global_model_error, global_model_loss_error
from tests.reference import fedrep as reference
from tests.strategies import cases
from tests.tools import close


def run(case, w, selected, step_size, local_steps, fill=np.nan):
    """Return the mean model and the loss, with scratch arrays that held `fill`."""
    work = kernel.workspace(case.k, case.d, case.m)
    for array in work:
        array[:] = fill
    loss = kernel.global_model_round(
        Samples(case.X, case.y, case.offsets), selected, case.B.T.copy(), w.copy(), step_size,
        local_steps, work,
    )  # fmt: skip
    return work.sumT.T / len(selected), work.head_sum / len(selected), loss


@given(cases(k_within_n=False), st.floats(1e-3, 0.05), st.integers(1, 3), st.data())
def test_global_model_round_equals_the_reference(case, step_size, local_steps, data):
    selected = case.rng.permutation(case.n)[: data.draw(st.integers(1, case.n))]
    w = case.W[0]
    B, head, loss = run(case, w, selected, step_size, local_steps)
    expected = reference.global_model_round(
        case.clients, case.B, w, selected, step_size, local_steps
    )
    error = global_model_error(case.clients, case.B, w, selected, step_size, local_steps)
    close(B, expected[0], error)
    close(head, expected[1], error)
    close(loss, expected[2], global_model_loss_error(case.clients, case.B, w, selected))
