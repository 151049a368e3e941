"""One round of FedRep, as linrep took it, against the reference."""

import numpy as np
from hypothesis import assume
from numpy.linalg import cond, norm

from tests.reference import fedrep as reference
from tests.tools import (
    EPS,
    UNITS,
    close,
    frame_error,
    metric_errors,
    rank_is_clear,
    round_errors,
)


def _reference_round(before, clients, selected, settings, gradient_clients, **changes):
    settings = settings | {"gradient_clients": gradient_clients} | changes
    step_size = settings.pop("step_size")
    return reference.round(clients, *before, selected, step_size, **settings)


def heads_are_clear(clients, selected, B, settings):
    """Tell whether every head is either stepped or far from a change of rank."""
    exact = settings["local_steps"] is None
    return not exact or all(rank_is_clear(clients[i][0] @ B) for i in selected)


def is_lost(before, clients, selected, settings, gradient_clients=None):
    """Tell whether the reference's round leaves B without full rank, or numbers out of range."""
    with np.errstate(all="ignore"):
        B, W, loss = _reference_round(
            before, clients, selected, settings, gradient_clients, orthonormal=False
        )
        size = max(norm(B), norm(W), loss)
    return not size < 1e70 or cond(B) > 1e10


def check_round(before, after, row, clients, selected, settings, truth, gradient_clients=None):
    """Compare the step from (B, W) before to (B, W) after, and what was measured.

    row maps names of metrics to their values after the round; settings are the step size and the
    options of the reference's round; truth is (B*, W*), or None where it is not known.
    """
    B, W, loss = _reference_round(before, clients, selected, settings, gradient_clients)
    W_errors, B_error, loss_error = round_errors(
        clients,
        *before,
        W,
        selected,
        settings["step_size"],
        settings | {"gradient_clients": gradient_clients},
    )
    close(after[1], W, W_errors[:, None])
    close(row["loss"], loss, loss_error)
    if settings["orthonormal"]:
        B_bar, *_ = _reference_round(
            before, clients, selected, settings, gradient_clients, orthonormal=False
        )
        assume(cond(B_bar) < 1e8)
        B_error = frame_error(B_bar, B_error)
    close(after[0], B, B_error)
    if truth is not None:
        check_metrics(after, row, truth)


def check_metrics(state, row, truth):
    """Compare what linrep measured with what the reference measures at the same (B, W)."""
    expected = reference.metrics(*state, *truth)
    errors = metric_errors(*state, truth[1], EPS * norm(state[0]), 0.0)
    for name, value in expected.items():
        close(row[name], value, errors[name])


def global_model_error(clients, B, w, selected, step_size, local_steps):
    """Bound the errors of a few steps in (B, w): what rounding adds, times how steps spread it.

    A step is a polynomial in (B, w); on a ball of radius R around the origin its Jacobian is below
    1 + step_size * (3 R^2 times the largest curvature, plus the labels' part), and so is what a
    step does to R.
    """
    radius, spread = norm(B) + norm(w) + 1.0, 1.0
    curvature = max(norm(clients[i][0], 2) ** 2 / len(clients[i][1]) for i in selected)
    labels = max(norm(clients[i][1]) / len(clients[i][1]) ** 0.5 for i in selected)
    for _ in range(local_steps):
        slope = step_size * (3.0 * curvature * radius**2 + curvature**0.5 * labels)
        spread *= 1.0 + slope
        radius *= 1.0 + slope
    return UNITS * EPS * local_steps * spread * radius


def global_model_loss_error(clients, B, w, selected):
    """Bound the error of the mean loss of (B, w)."""
    sizes = [norm(clients[i][0]) * norm(B) * norm(w) + norm(clients[i][1]) for i in selected]
    return UNITS * EPS * max(sizes) ** 2
