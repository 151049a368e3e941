"""FedRep's trajectories, many rounds in one call: on stored data, or on batches drawn when used.

All change B and W in place, fill one row of metrics a round (row 0 belongs to the start
and is the caller's), and return the number of rounds completed and how the run ended.
"""

import numpy as np

from linrep.kernels._jit import kernel
from linrep.kernels.designs import draw_covariates, draw_labels
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


def workspace(k, d, m, participants):
    """Return the scratch arrays that the kernels below pass around; m is the largest batch."""
    return (
        np.empty((k, m)),  # Z
        np.empty((k, k)),  # G
        np.empty(2 * k),  # v
        np.empty(m),  # residual
        np.empty(d),  # g
        np.empty((k, d)),  # gradientT
        np.empty((k, d)),  # candidateT
        np.empty((k, d)),  # ET
        np.empty((k, k)),  # C
        np.empty((k, k)),  # D
        np.empty((participants, k)),  # previous heads, put back if the round fails
    )


@kernel
def fit_heads(X, y, offsets, BT, W, work):
    """Solve for every client's head on a frozen representation; W (n, k) is written."""
    Z, G, v = work[0], work[1], work[2]
    for i in range(offsets.shape[0] - 1):
        Xi, yi = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]]
        fit_head(Xi, yi, BT, W[i], EXACT, 0.0, Z, G, v)


@kernel
def move_and_measure(BT, W, loss, step_size, orthonormal, truthT, truth_heads, moment, tolerance,
                     row, work):  # fmt: skip
    """Take the server's step and record the round; return how the run stands."""
    _, G, _, _, _, gradientT, candidateT, ET, C, D, _ = work
    row[LOSS] = loss
    if not finite(loss) or not move_representation(
        BT, gradientT, step_size, orthonormal, candidateT
    ):
        return DIVERGED
    if truthT.shape[0] > 0:
        measure(BT, W, truthT, truth_heads, moment, orthonormal, candidateT, ET, C, D, G, row)
        if not finite(row[POPULATION_RISK]):
            copy_rows(gradientT, BT)  # the one before the step
            return DIVERGED
        if row[DISTANCE] <= tolerance:
            return CONVERGED
    return COMPLETED


@kernel
def finish_round(BT, W, participants, loss, step_size, orthonormal, truthT, truth_heads, moment,
                 tolerance, row, work):  # fmt: skip
    """Do what move_and_measure does; participants get their heads back if the round fails."""
    status = move_and_measure(
        BT, W, loss, step_size, orthonormal, truthT, truth_heads, moment, tolerance, row, work
    )
    if status == DIVERGED:
        previous = work[10]
        for place in range(participants.shape[0]):
            copy(previous[place], W[participants[place]])
    return status


@kernel
def _run_trial(X, y, offsets, schedule, BT, W, step_size, averaged, local_steps, head_step_size,
               orthonormal, truthT, truth_heads, moment, tolerance, metrics, work):  # fmt: skip
    """See run_fixed."""
    Z, G, v, residual, g, gradientT, _, _, _, _, previous = work
    rounds, participants = schedule.shape
    for t in range(rounds):
        gradientT[:] = 0.0
        loss = 0.0
        weight = 1.0 / participants if averaged else 1.0
        for place in range(participants):
            i = schedule[t, place]
            Xi, yi, w = X[offsets[i] : offsets[i + 1]], y[offsets[i] : offsets[i + 1]], W[i]
            copy(w, previous[place])
            fit_head(Xi, yi, BT, w, local_steps, head_step_size, Z, G, v)
            loss += add_gradient(Xi, yi, w, weight, Z, residual, g, gradientT)
        status = finish_round(
            BT, W, schedule[t], loss / participants, step_size, orthonormal, truthT, truth_heads,
            moment, tolerance, metrics[t + 1], work,
        )  # fmt: skip
        if status == DIVERGED:
            return t, DIVERGED
        if status == CONVERGED:
            return t + 1, CONVERGED
    return rounds, COMPLETED


@kernel
def run_fixed_trials(X, y, offsets, schedule, BT, W, step_size, averaged, local_steps,
                     head_step_size, orthonormal, truthT, truth_heads, moment, tolerance, metrics,
                     work, completed, status):  # fmt: skip
    """Run independent trials one after the other: every array has a leading axis of trials.

    Shared by all: offsets, the settings and the workspace. Threads take disjoint slices of the
    leading axis, each with a workspace of its own.
    """
    for trial in range(X.shape[0]):
        completed[trial], status[trial] = _run_trial(
            X[trial], y[trial], offsets, schedule[trial], BT[trial], W[trial], step_size, averaged,
            local_steps, head_step_size, orthonormal, truthT[trial], truth_heads[trial],
            moment[trial], tolerance, metrics[trial], work,
        )  # fmt: skip


def run_fixed(X, y, offsets, schedule, BT, W, *arguments):
    """Run one round per row of schedule on stored data.

    Client i owns rows offsets[i]:offsets[i + 1] of X and y. The arguments are those of
    run_fixed_trials without their leading axis and without its last two, which are returned: one
    trial alone takes the same machine code, so that it gives the same bits.
    """
    *settings, truthT, truth_heads, moment, tolerance, metrics, work = arguments
    completed, status = np.empty((2, 1), dtype=np.int64)
    run_fixed_trials(
        X[None], y[None], offsets, schedule[None], BT[None], W[None], *settings,
        truthT[None], truth_heads[None], moment[None], tolerance, metrics[None], work,
        completed, status,
    )  # fmt: skip
    return int(completed[0]), int(status[0])


@kernel
def _run_fresh(rng, design, degrees_of_freedom, noise, split, X, y, theta, schedule, BT, W,
               step_size, averaged, local_steps, head_step_size, orthonormal, truthT, truth_heads,
               moment, tolerance, metrics, work):  # fmt: skip
    """See run_fresh."""
    Z, G, v, residual, g, gradientT, _, _, _, _, previous = work
    rounds, participants = schedule.shape
    m = X.shape[0]
    for t in range(rounds):
        gradientT[:] = 0.0
        loss = 0.0
        weight = 1.0 / participants if averaged else 1.0
        for place in range(participants):
            i = schedule[t, place]
            w = W[i]
            for column in range(theta.shape[0]):
                theta[column] = 0.0
            for a in range(truthT.shape[0]):
                for column in range(theta.shape[0]):
                    theta[column] += truthT[a, column] * truth_heads[i, a]
            copy(w, previous[place])
            for batch in range(2 if split else 1):
                draw_covariates(rng, design, degrees_of_freedom, X)
                draw_labels(rng, X, theta, noise, y)
                project(X, BT, Z)
                if batch == 0:
                    move_head(Z, m, y, w, local_steps, head_step_size, G, v)
            loss += add_gradient(X, y, w, weight, Z, residual, g, gradientT)
        status = finish_round(
            BT, W, schedule[t], loss / participants, step_size, orthonormal, truthT, truth_heads,
            moment, tolerance, metrics[t + 1], work,
        )  # fmt: skip
        if status == DIVERGED:
            return t, DIVERGED
        if status == CONVERGED:
            return t + 1, CONVERGED
    return rounds, COMPLETED


@kernel(counted=True)
def run_fresh(rng, design, degrees_of_freedom, noise, split, X, y, theta, schedule, BT, W,
              step_size, averaged, local_steps, head_step_size, orthonormal, truthT, truth_heads,
              moment, tolerance, metrics, work):  # fmt: skip
    """Run one round per row of schedule, each participant drawing new samples into X (m, d).

    With split, the head sees one batch and the gradient another, drawn after it.
    """
    return _run_fresh(
        rng, design, degrees_of_freedom, noise, split, X, y, theta, schedule, BT, W, step_size,
        averaged, local_steps, head_step_size, orthonormal, truthT, truth_heads, moment, tolerance,
        metrics, work,
    )  # fmt: skip
