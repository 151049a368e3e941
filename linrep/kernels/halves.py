"""Rounds of FedRep in which a client's head sees one half of its samples, the gradient the other.

All change B and W in place, fill one row of metrics a round (row 0 belongs to the start
and is the caller's), and return the number of rounds completed and how the run ended.
"""

from linrep.kernels.fedrep import finish_round
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy
from linrep.kernels.rounds import (
    COMPLETED,
    CONVERGED,
    DIVERGED,
    add_gradient,
    fit_head,
    project,
)


@kernel
def halves_gradients(X, y, offsets, clients, BT, W, weight, settings, work):
    """Do what fixed_gradients does, with heads on the first half of the samples, rounded up.

    The loss is that of the other half; a client needs two samples at least.
    """
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
    rounds, participants = schedule.shape
    weight = 1.0 / participants if settings.averaged else 1.0
    for t in range(rounds):
        loss = halves_gradients(
            samples.X, samples.y, samples.offsets, schedule[t], BT, W, weight, settings, work
        )
        status = finish_round(
            BT, W, schedule[t], loss / participants, settings, truth, metrics[t + 1], work
        )
        if status == DIVERGED:
            return t, DIVERGED
        if status == CONVERGED:
            return t + 1, CONVERGED
    return rounds, COMPLETED
