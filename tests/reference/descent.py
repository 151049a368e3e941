"""Descent by values, one plain step per line (float64). No function modifies its arguments."""

import numpy as np

ROUNDING = 64.0 * np.finfo(np.float64).eps


def _inner(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def _point(x, g, step, proximal):
    moved = np.array([a - step * b for a, b in zip(x, g, strict=True)])
    return moved if proximal is None else proximal(moved, step)


def search(value, gradient, x, values, step, proximal=None):
    """The step that is taken from x, and how many were tried; None where none moves x.

    A new value may not exceed the largest of `values`, less 1e-4 |move|^2 / step. Of the parabola
    through f(x) with slope -|move|^2 / step, and through the new value at `step`, the lowest point
    is the next step, kept between a tenth and a half of this one.
    """
    f, g, highest = value(x), gradient(x), max(values)
    for trial in range(1, 101):
        new = _point(x, g, step, proximal)
        move = new - x
        square = _inner(move, move)
        if square == 0.0:
            return None, trial
        found = value(new)
        if found <= highest - 1e-4 * square / step + ROUNDING * abs(highest):
            return step, trial
        bend = found - f + square / step  # what is above the tangent
        lowest = step * (square / step) / (2.0 * bend) if 0.0 < bend < np.inf else 0.1 * step
        step = min(max(lowest, 0.1 * step), 0.5 * step)
    return None, 100


def first_step(value, gradient, x):
    """The first step: as long as x, cut until it is good enough, or doubled while f falls."""
    g = gradient(x)
    size = np.sqrt(_inner(g, g))
    step = (np.sqrt(_inner(x, x)) or 1.0) / size if size > 0.0 else 1.0
    found, tried = search(value, gradient, x, [value(x)], step)
    if found is None or found < step:
        return found, tried
    while True:
        tried += 1
        if tried > 101 or not value(_point(x, g, 2.0 * step, None)) < value(
            _point(x, g, step, None)
        ):
            return step, tried
        step *= 2.0


def spectral_step(s, y, step, *, short):
    """Barzilai and Borwein's: s'y / y'y (short), or s's / s'y; twice the last where s'y <= 0."""
    along = _inner(s, y)
    if not along > 0.0:
        return 2.0 * step
    found = along / _inner(y, y) if short else _inner(s, s) / along
    return min(found, 1e5 * step)


def descend(value, gradient, x, rounds, *, proximal=None, first=None):
    """The points and steps of so many rounds, and how many points were tried."""
    points, steps, tried = [x], [], 0
    values, following = [value(x)], first
    for _ in range(rounds):
        x, g = points[-1], gradient(points[-1])
        if following is None:
            step, count = first_step(value, gradient, x)
        else:
            step, count = search(value, gradient, x, values[-10:], following, proximal)
        tried += count
        if step is None:
            points.append(x)
            steps.append(0.0)
            continue
        new = _point(x, g, step, proximal)
        following = spectral_step(new - x, gradient(new) - g, step, short=proximal is None)
        points.append(new)
        steps.append(step)
        values.append(value(new))
    return points, steps, tried


def largest_eigenvalue(H, weights):
    """The eigenvalue of D^(1/2) H D^(1/2) that is largest in absolute value."""
    roots = np.diag(np.sqrt(weights))
    return max(abs(np.linalg.eigvalsh(roots @ H @ roots)))
