"""FedRep's trajectories, many rounds in one call: on stored data, or on batches drawn when used.

All change B and W in place, fill one row of metrics a round (row 0 belongs to the start
and is the caller's), and return the number of rounds completed and how the run ended.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.designs import draw_covariates, draw_labels
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy, copy_rows, finite
from linrep.kernels.rounds import (
    COMPLETED,
    CONVERGED,
    DISTANCE,
    DIVERGED,
    EXACT,
    LOSS,
    POPULATION_RISK,
    add_gradient,
    fit_head,
    measure,
    move_head,
    move_representation,
    project,
)

Values = NDArray[np.float64]


class Samples(NamedTuple):
    """Stored data: client i owns rows offsets[i]:offsets[i + 1] of X (N, d) and y (N,)."""

    X: Values
    y: Values
    offsets: NDArray[np.int64]


class Batch(NamedTuple):
    """How a participant's batch is drawn, and room for it."""

    design: int
    degrees_of_freedom: float
    noise: float
    split: bool  # the head sees one batch and the gradient another, drawn after it
    X: Values  # (m, d)
    y: Values  # (m,)
    theta: Values  # (d,)


@kernel
def fit_heads(X, y, offsets, BT, W, work):
    """Solve for every client's head on a frozen representation; W (n, k) is written."""
    for i in range(offsets.shape[0] - 1):
        Xi, yi = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]]
        fit_head(Xi, yi, BT, W[i], EXACT, 0.0, work.Z, work.G, work.v)


@kernel
def run_rounds(gradients, finish, averaged, source, run):
    """Run one round per row of schedule; return how many, and how they ended.

    `gradients` lets clients fit their heads and sums up their weighted gradients, and returns the
    sum of their losses; `finish` takes the server's step, records the round, and returns how the
    run stands. Both are kernels, inlined here, and know what the source is.
    """
    schedule, BT, W, settings, truth, metrics, work = run
    rounds, participants = schedule.shape
    weight = 1.0 / participants if averaged else 1.0
    for t in range(rounds):
        clients = schedule[t]
        loss = gradients(source, clients, BT, W, weight, settings, truth, work)
        status = finish(
            source, clients, BT, W, loss / participants, settings, truth, metrics[t + 1], work
        )
        if status != COMPLETED:
            return t + (1 if status == CONVERGED else 0), status
    return rounds, COMPLETED


@kernel
def finish_round(source, participants, BT, W, loss, settings, truth, row, work):
    """Take the server's step and record the round; return how the run stands."""
    row[LOSS] = loss
    moved = finite(loss) and move_representation(
        BT, work.gradientT, settings.step_size, settings.orthonormal, work.candidateT
    )
    return record_round(moved, BT, W, BT, W, participants, settings, truth, row, work)


@kernel
def record_round(moved, BT, W, result_BT, result_W, participants, settings, truth, row, work):
    """Record the result of a round whose step has moved BT, or has failed; return its status.

    The result is what is measured against the truth. If the round fails, the representation of
    before, which the step leaves in `gradientT`, is put back, and so are the participants' heads.
    """
    status = COMPLETED if moved else DIVERGED
    if moved and truth.BT.shape[0] > 0:
        measure(result_BT, result_W, truth, settings.orthonormal, work, row)
        if not finite(row[POPULATION_RISK]):
            copy_rows(work.gradientT, BT)
            status = DIVERGED
        elif row[DISTANCE] <= settings.tolerance:
            status = CONVERGED
    if status == DIVERGED:
        for index in range(participants.shape[0]):
            copy(work.heads[index], W[participants[index]])
    return status


@kernel
def fixed_gradients(samples, clients, BT, W, weight, settings, truth, work):
    """Let clients fit their heads and sum up their weighted gradients; return their losses' sum."""
    X, y, offsets = samples.X, samples.y, samples.offsets
    local_steps, head_step_size = settings.local_steps, settings.head_step_size
    work.gradientT[:] = 0.0
    loss = 0.0
    for place in range(clients.shape[0]):
        i = clients[place]
        Xi, yi, w = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]], W[i]
        copy(w, work.heads[place])
        fit_head(Xi, yi, BT, w, local_steps, head_step_size, work.Z, work.G, work.v)
        own = add_gradient(Xi, yi, w, weight, work.Z, work.residual, work.g, work.gradientT)
        work.losses[place] = own
        loss += own
    return loss


@kernel
def run_fixed(samples, schedule, BT, W, settings, truth, metrics, work):
    """Run one round per row of schedule on stored data."""
    run = schedule, BT, W, settings, truth, metrics, work
    return run_rounds(fixed_gradients, finish_round, settings.averaged, samples, run)


@kernel
def fresh_gradients(source, clients, BT, W, weight, settings, truth, work):
    """Do what fixed_gradients does on new samples, which each client draws."""
    rng, batch = source
    X, y, theta = batch.X, batch.y, batch.theta
    local_steps, head_step_size = settings.local_steps, settings.head_step_size
    m = X.shape[0]
    work.gradientT[:] = 0.0
    loss = 0.0
    for place in range(clients.shape[0]):
        i = clients[place]
        w = W[i]
        for column in range(theta.shape[0]):
            theta[column] = 0.0
        for a in range(truth.BT.shape[0]):
            for column in range(theta.shape[0]):
                theta[column] += truth.BT[a, column] * truth.W[i, a]
        copy(w, work.heads[place])
        for part in range(2 if batch.split else 1):
            draw_covariates(rng, batch.design, batch.degrees_of_freedom, X)
            draw_labels(rng, X, theta, batch.noise, y)
            project(X, BT, work.Z)
            if part == 0:
                move_head(work.Z, m, y, w, local_steps, head_step_size, work.G, work.v)
        loss += add_gradient(X, y, w, weight, work.Z, work.residual, work.g, work.gradientT)
    return loss


@kernel(counted=True)
def run_fresh(rng, batch, schedule, BT, W, settings, truth, metrics, work):
    """Run one round per row of schedule, each participant drawing new samples."""
    run = schedule, BT, W, settings, truth, metrics, work
    return run_rounds(fresh_gradients, finish_round, settings.averaged, (rng, batch), run)
