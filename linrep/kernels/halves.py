"""Rounds of FedRep in which a client's head sees one half of its samples, the gradient the other.

All change B and W in place, fill one row of metrics a round (row 0 belongs to the start
and is the caller's), and return the number of rounds completed and how the run ended.
"""

from linrep.kernels.fedrep import finish_round, run_rounds
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy
from linrep.kernels.rounds import add_gradient, fit_head, project


@kernel
def halves_gradients(samples, clients, BT, W, weight, settings, truth, work):
    """Do what fixed_gradients does, with heads on the first half of the samples, rounded up.

    The loss is that of the other half; a client needs two samples at least.
    """
    X, y, offsets = samples.X, samples.y, samples.offsets
    local_steps, head_step_size = settings.local_steps, settings.head_step_size
    work.gradientT[:] = 0.0
    loss = 0.0
    for place in range(clients.shape[0]):
        i = clients[place]
        first, last, w = offsets[i], offsets[i + 1], W[i]
        middle = last - (last - first) // 2
        copy(w, work.heads[place])
        fit_head(
            X[first:middle], y[first:middle], BT, w, local_steps, head_step_size,
            work.Z, work.G, work.v,
        )  # fmt: skip
        Xi, yi = X[middle:last], y[middle:last]
        project(Xi, BT, work.Z)
        own = add_gradient(Xi, yi, w, weight, work.Z, work.residual, work.g, work.gradientT)
        work.losses[place] = own
        loss += own
    return loss


@kernel
def run_halves(samples, schedule, BT, W, settings, truth, metrics, work):
    """Run one round per row of schedule on stored data, each client's in two halves."""
    run = schedule, BT, W, settings, truth, metrics, work
    return run_rounds(halves_gradients, finish_round, settings.averaged, samples, run)
