"""FLUTE's rounds on data, its population limit, and the map of the lifted iterates.

Conventions: BT is the representation transposed, (k, d), and so is every matrix whose long side is
to be run through by the innermost loop. Nothing here allocates. A step is

    B <- B - weight * sum_i g_i w_i' + B (first * W'W - second * B'B)
    w_i <- w_i - data_step * B' g_i + (first * B'B - second * W'W) w_i

with g_i the gradient of client i's half mean squared error at its model B w_i, all at the old
(B, W); first is 2 gamma_1 eta_r and second 4 gamma_2 eta_r in equation (6) of the FLUTE paper.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.designs import draw_covariates, draw_labels
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy, copy_rows, dot, finite, gram, subtract_product
from linrep.kernels.rounds import COMPLETED, CONVERGED, DIVERGED, back_project

STORED, GRAM, PACKED, FRESH = range(4)  # where a client's gradient comes from
_LOOK = 64  # steps of the lifted map between two looks at whether it has settled


Values = NDArray[np.float64]


class Source(NamedTuple):
    """Where gradients come from; what a kind does not need may be empty.

    STORED: client i owns rows offsets[i]:offsets[i + 1] of X and y. GRAM: S, centres and rests as
    in gram_gradient; PACKED: of S the upper triangle alone, row after row, which is half as much to
    read. FRESH: every participant draws a batch into X (m, d) and y (m,) around the model
    centres[i].
    """

    kind: int
    design: int
    degrees_of_freedom: float
    noise: float
    X: Values
    y: Values
    offsets: NDArray[np.int64]
    S: Values  # (n, d, d)
    triangles: Values  # (n, d (d + 1) / 2)
    centres: Values  # (n, d)
    rests: Values  # (n,)


class Steps(NamedTuple):
    """What multiplies the terms of a step, and the relative change that is the last."""

    data_step: float
    weight: float
    first: float
    second: float
    tolerance: float


class Workspace(NamedTuple):
    """Scratch arrays of `run`."""

    C: Values  # B'B, (k, k)
    D: Values  # W'W, (k, k)
    mix_B: Values  # what multiplies B, (k, k)
    mix_W: Values  # what multiplies W, (k, k)
    model: Values  # (d,)
    g: Values  # (d,)
    residual: Values  # (m,)
    gradientT: Values  # (k, d)
    heads: Values  # (participants, k): of before the round, put back if it fails


class PopulationWorkspace(NamedTuple):
    """Scratch arrays of `run_population`."""

    B: Values  # (k, d)
    W: Values  # (k, n)
    C: Values  # (k, k)
    D: Values  # (k, k)


def workspace(k: int, d: int, m: int, participants: int) -> Workspace:
    """Return scratch arrays for batches of at most m samples."""
    square = (k, k)
    return Workspace(
        C=np.empty(square),
        D=np.empty(square),
        mix_B=np.empty(square),
        mix_W=np.empty(square),
        model=np.empty(d),
        g=np.empty(d),
        residual=np.empty(m),
        gradientT=np.empty((k, d)),
        heads=np.empty((participants, k)),
    )


@kernel
def mix(first, C, second, D, mixing):
    """Write first * C - second * D into mixing."""
    for a in range(C.shape[0]):
        for b in range(C.shape[1]):
            mixing[a, b] = first * C[a, b] - second * D[a, b]


@kernel
def second_moment(W, D):
    """Write W'W of heads in rows into D."""
    k = W.shape[1]
    for a in range(k):
        for b in range(a + 1):
            entry = 0.0
            for i in range(W.shape[0]):
                entry += W[i, a] * W[i, b]
            D[a, b] = entry
            D[b, a] = entry


@kernel
def stored_gradient(X, y, model, residual, g):
    """Write X'(X model - y)/m into g; return the half mean squared error."""
    m = X.shape[0]
    for j in range(m):
        residual[j] = (dot(X[j], model) - y[j]) / m
    back_project(X, residual[:m], g)
    return 0.5 * m * dot(residual[:m], residual[:m])


@kernel
def gram_gradient(S, centre, rest, model, g):
    """Write X'(X model - y)/m into g, from second moments; return the half mean squared error.

    S is X'X/m, the centre a least-squares model, and rest its half mean squared error. model
    becomes its difference from the centre, which keeps small gradients accurate.
    """
    for column in range(g.shape[0]):
        model[column] -= centre[column]
    for column in range(g.shape[0]):
        g[column] = dot(S[column], model)
    return rest + 0.5 * dot(model, g)


@kernel
def packed_gradient(triangle, centre, rest, model, g):
    """Write X'(X model - y)/m into g, as gram_gradient does; return the half mean squared error.

    An entry of the triangle of S serves two entries of g.
    """
    d = g.shape[0]
    for column in range(d):
        model[column] -= centre[column]
        g[column] = 0.0
    start = 0
    for row in range(d):
        size = d - row
        line, others, below = triangle[start : start + size], model[row:], g[row:]
        x, total = model[row], 0.0
        for column in range(1, size):
            total += line[column] * others[column]
            below[column] += line[column] * x
        below[0] += total + line[0] * x
        start += size
    return rest + 0.5 * dot(model, g)


@kernel
def move_head(BT, g, w, data_step, mixing, previous):
    """Take a head's step; previous keeps the old head."""
    copy(w, previous)
    for a in range(w.shape[0]):
        w[a] = previous[a] - data_step * dot(BT[a], g) + dot(mixing[a], previous)


@kernel
def move_representation(BT, gradientT, mixing):
    """Take the representation's step; False, and BT kept, if the result is not finite.

    gradientT is overwritten, with minus the step.
    """
    k, d = BT.shape
    subtract_product(mixing, BT, gradientT)
    total = 0.0
    for a in range(k):
        for column in range(d):
            total += abs(BT[a, column] - gradientT[a, column])
    if not finite(total):
        return False
    for a in range(k):
        for column in range(d):
            BT[a, column] -= gradientT[a, column]
    return True


@kernel
def stored_client(source, i, model, residual, g):
    """Write the gradient of client i's half mean squared error into g; return that error.

    Of stored samples, in whatever form; model (d,) may be overwritten.
    """
    if source.kind == GRAM:
        return gram_gradient(source.S[i], source.centres[i], source.rests[i], model, g)
    if source.kind == PACKED:
        triangle = source.triangles[i]
        return packed_gradient(triangle, source.centres[i], source.rests[i], model, g)
    rows = slice(source.offsets[i], source.offsets[i + 1])
    return stored_gradient(source.X[rows], source.y[rows], model, residual, g)


@kernel
def evaluate(source, participants, BT, W, gradientT, head_gradients, work):
    """Write the gradients of the sum of participants' half mean squared errors; return that sum.

    On stored samples. gradientT (k, d) is that in B, transposed; head_gradients (n, k) has those of
    participants, the others' rows are kept.
    """
    k, d = BT.shape
    model, g = work.model, work.g
    gradientT[:] = 0.0
    loss = 0.0
    for i in participants:
        w = W[i]
        for column in range(d):
            model[column] = 0.0
        for a in range(k):
            for column in range(d):
                model[column] += w[a] * BT[a, column]
        loss += stored_client(source, i, model, work.residual, g)
        for a in range(k):
            head_gradients[i, a] = dot(BT[a], g)
            for column in range(d):
                gradientT[a, column] += w[a] * g[column]
    return loss


@kernel
def play_round(rng, source, participants, BT, W, steps, work):
    """Run a round; return the loss it started from and how the run stands."""
    k, d = BT.shape
    C, D, model, g, gradientT = work.C, work.D, work.model, work.g, work.gradientT
    gram(BT, C)
    second_moment(W, D)
    mix(steps.first, D, steps.second, C, work.mix_B)
    mix(steps.first, C, steps.second, D, work.mix_W)
    gradientT[:] = 0.0
    loss, change, size = 0.0, 0.0, 0.0
    for place in range(participants.shape[0]):
        i = participants[place]
        w, before = W[i], work.heads[place]
        for column in range(d):
            model[column] = 0.0
        for a in range(k):
            for column in range(d):
                model[column] += w[a] * BT[a, column]
        if source.kind != FRESH:
            loss += stored_client(source, i, model, work.residual, g)
        else:
            draw_covariates(rng, source.design, source.degrees_of_freedom, source.X)
            draw_labels(rng, source.X, source.centres[i], source.noise, source.y)
            loss += stored_gradient(source.X, source.y, model, work.residual, g)
        for a in range(k):
            factor = steps.weight * w[a]
            for column in range(d):
                gradientT[a, column] += factor * g[column]
        move_head(BT, g, w, steps.data_step, work.mix_W, before)
        for a in range(k):
            change += (w[a] - before[a]) ** 2
            size += w[a] ** 2
    loss /= participants.shape[0]
    if not (finite(loss) and finite(size) and move_representation(BT, gradientT, work.mix_B)):
        for place in range(participants.shape[0]):
            copy(work.heads[place], W[participants[place]])
        return loss, DIVERGED
    for a in range(k):
        change += dot(gradientT[a], gradientT[a])
        size += dot(BT[a], BT[a])
    settled = change <= steps.tolerance * steps.tolerance * size
    return loss, CONVERGED if settled else COMPLETED


@kernel(counted=True)
def run(rng, source, schedule, BT, W, steps, losses, work):
    """Run one round per row of schedule; return the rounds completed and how the run ended.

    BT (k, d) and W (n, k) are changed in place, losses (rounds,) filled with the participants' mean
    half squared error at the state each round starts from. Heads of others stay where they are. A
    round that changes (B, W) by at most the tolerance, in Frobenius norm relative to (B, W), is the
    last.
    """
    for t in range(schedule.shape[0]):
        losses[t], status = play_round(rng, source, schedule[t], BT, W, steps, work)
        if status == DIVERGED:
            return t, DIVERGED
        if status == CONVERGED:
            return t + 1, CONVERGED
    return schedule.shape[0], COMPLETED


@kernel
def _half_step(UT, VT, singular_values, data_step, second, C, rest, D, nextT):
    """Write U + data_step * Lambda V - U (rest * D + second * C), transposed, into nextT."""
    k = UT.shape[0]
    for a in range(k):
        for row in range(UT.shape[1]):
            nextT[a, row] = UT[a, row]
        for row in range(singular_values.shape[0]):
            nextT[a, row] += data_step * singular_values[row] * VT[a, row]
        for b in range(k):
            factor = rest * D[a, b] + second * C[a, b]
            for row in range(UT.shape[1]):
                nextT[a, row] -= factor * UT[b, row]


@kernel
def accept(nextT, UT):
    """Copy nextT into UT; return the squared norms of the change and of the result."""
    change, size = 0.0, 0.0
    for a in range(UT.shape[0]):
        for row in range(UT.shape[1]):
            step = nextT[a, row] - UT[a, row]
            change += step * step
            size += nextT[a, row] * nextT[a, row]
            UT[a, row] = nextT[a, row]
    return change, size


@kernel
def run_population(BT, WT, singular_values, steps, rounds, work):
    """Run rounds of infinitely many samples in the singular bases of Phi, which is diagonal there.

    BT (k, d) and WT (k, n) are the transposes of U'B and V'W and changed in place. Returns the
    rounds completed and how the run ended.
    """
    data_step, first, second = steps.data_step, steps.first, steps.second
    nextB, nextW, C, D = work
    k = BT.shape[0]
    for t in range(rounds):
        gram(BT, C)
        gram(WT, D)
        _half_step(BT, WT, singular_values, data_step, second, C, data_step - first, D, nextB)
        _half_step(WT, BT, singular_values, data_step, second, D, data_step - first, C, nextW)
        total = 0.0
        for a in range(k):
            total += dot(nextB[a], nextB[a]) + dot(nextW[a], nextW[a])
        if not finite(total):
            return t, DIVERGED
        change_B, size_B = accept(nextB, BT)
        change_W, size_W = accept(nextW, WT)
        if change_B + change_W <= steps.tolerance * steps.tolerance * (size_B + size_W):
            return t + 1, CONVERGED
    return rounds, COMPLETED


@kernel
def _settled(nextT, ThetaT):
    """Tell whether a step left every row where it was, but for rounding and for what dies out.

    A row counts by its own size, however small: next to a saddle, one that still grows is what the
    others wait for. It may shrink once it is lost next to the largest.
    """
    eps = np.finfo(np.float64).eps
    largest = 0.0
    for row in range(ThetaT.shape[1]):
        size = 0.0
        for a in range(ThetaT.shape[0]):
            size += nextT[a, row] * nextT[a, row]
        largest = max(largest, size)
    for row in range(ThetaT.shape[1]):
        change, before, after = 0.0, 0.0, 0.0
        for a in range(ThetaT.shape[0]):
            step = nextT[a, row] - ThetaT[a, row]
            change += step * step
            before += ThetaT[a, row] * ThetaT[a, row]
            after += nextT[a, row] * nextT[a, row]
        still = change <= 16.0 * eps * eps * before
        lost = after <= before and after <= eps * eps * largest
        if not (still or lost):
            return False
    return True


@kernel
def _run_theta(ThetaT, eigenvalues, step_size, RT, record, outT, nextT, G):
    """Iterate the map from one initial point; for run_theta."""
    k, rows = ThetaT.shape
    half = 0.5 * step_size
    t, place = 0, 0
    status = COMPLETED
    while place < record.shape[0]:
        if t == record[place] or status != COMPLETED:
            copy_rows(ThetaT, outT[place])
            place += 1
            continue
        gram(ThetaT, G)
        for a in range(k):
            for row in range(rows):
                growth = 1.0 + half * eigenvalues[row]
                nextT[a, row] = growth * ThetaT[a, row] + RT[a, row]
            for b in range(k):
                G[a, b] *= half
        subtract_product(G, ThetaT, nextT)
        total = 0.0
        for a in range(k):
            total += dot(nextT[a], nextT[a])
        if not finite(total):
            status = DIVERGED
            continue
        t += 1
        if t % _LOOK == 0 and _settled(nextT, ThetaT):
            status = CONVERGED
        copy_rows(nextT, ThetaT)
    return t, status


@kernel
def run_theta(ThetaT, eigenvalues, step_sizes, RT, record, outT, nextT, G, completed, status):
    """Iterate Theta + (eta/2) (Lambda Theta - Theta Theta' Theta) + R from many initial points.

    Trial by trial: ThetaT (trials, k, rows), changed in place; eigenvalues (trials, rows);
    step_sizes (trials,); RT (trials, k, rows), the same R in every step. record holds increasing
    numbers of steps, after which the state goes to outT (trials, records, k, rows). A trial that
    has settled at rounding level, or would next be not finite, stops and keeps its state in the
    remaining records. Scratch: nextT (k, rows), G (k, k). Results: completed and status (trials,).
    """
    for trial in range(ThetaT.shape[0]):
        completed[trial], status[trial] = _run_theta(
            ThetaT[trial],
            eigenvalues[trial],
            step_sizes[trial],
            RT[trial],
            record,
            outT[trial],
            nextT,
            G,
        )
