"""What a core can do at best, measured in turn with what is timed: multiply-adds and reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linrep.kernels.jit import kernel

# Read so many bytes, and take so many multiply-adds, at least.
_BYTES, _MULTIPLY_ADDS = 1e8, 2e7
_LENGTH = 256  # of the rows that are multiplied: seven of them are in the smallest cache


class Limits:
    """The limits of a core for what goes through some numbers.

    Parameters
    ----------
    numbers : ndarray
        What the timed code reads; they are read here from where they lie, cache or memory.
    """

    def __init__(self, numbers: np.ndarray) -> None:
        flat = np.ravel(numbers)
        self._reads = max(1, round(_BYTES / flat.nbytes))
        self._bytes = self._reads * flat.nbytes
        self._times = round(_MULTIPLY_ADDS / (12 * _LENGTH))
        rows = np.random.default_rng(0).standard_normal((7, _LENGTH))
        #: To be timed in turn with the others.
        self.contenders: dict[str, Callable[[], Any]] = {
            "multiply-add": lambda: multiply_add(rows[:3], rows[3:], self._times),
            "read": lambda: read(flat, self._reads),
        }
        for call in self.contenders.values():  # compiled by now
            call()

    def note(self, times: Mapping[str, np.ndarray], seconds, *, flops: float, read: float) -> str:
        """Return which limit is the nearer one, and what share of it was reached.

        Parameters
        ----------
        times : mapping of str to ndarray
            Of the contenders above.
        seconds : ndarray
            What a unit of work took.
        flops, read : float
            Additions and multiplications, and bytes from memory, in a unit of work.
        """
        peak = 24.0 * _LENGTH * self._times / float(np.median(times["multiply-add"]))
        bandwidth = self._bytes / float(np.median(times["read"]))
        least, limit = max(
            (flops / peak, f"{peak / 1e9:.1f} GF/s"),
            (read / bandwidth, f"{bandwidth / 1e9:.1f} GB/s read"),
        )
        return f"{least / float(np.median(seconds)):.0%} of {limit}"


@kernel
def multiply_add(X, Y, times):
    """Return the inner products of three rows with four, summed up, over and over.

    Twelve sums at a time: enough to hide the latency of multiply-adds, few enough for the vector
    registers of any processor.
    """
    x0, x1, x2 = X[0], X[1], X[2]
    y0, y1, y2, y3 = Y[0], Y[1], Y[2], Y[3]
    total = 0.0
    for _ in range(times):
        a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
        b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
        c0, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
        for i in range(x0.shape[0]):
            y = y0[i]
            a0 += x0[i] * y
            b0 += x1[i] * y
            c0 += x2[i] * y
            y = y1[i]
            a1 += x0[i] * y
            b1 += x1[i] * y
            c1 += x2[i] * y
            y = y2[i]
            a2 += x0[i] * y
            b2 += x1[i] * y
            c2 += x2[i] * y
            y = y3[i]
            a3 += x0[i] * y
            b3 += x1[i] * y
            c3 += x2[i] * y
        # Each by its own factor, so that no two sums can become one.
        total += a0 + 2.0 * a1 + 3.0 * a2 + 4.0 * a3 + 5.0 * b0 + 6.0 * b1 + 7.0 * b2 + 8.0 * b3
        total += 9.0 * c0 + 10.0 * c1 + 11.0 * c2 + 12.0 * c3
        y0[0] += 1e-300  # nor can what is repeated be taken out of the loop
    return total


@kernel
def read(x, times):
    """Return the sum of a vector's numbers, read so many times, from four places at once."""
    part = x.shape[0] // 4
    x0, x1, x2, x3 = x[:part], x[part : 2 * part], x[2 * part : 3 * part], x[3 * part :]
    total = 0.0
    for _ in range(times):
        for i in range(part):
            total += (x0[i] + x1[i]) + (x2[i] + x3[i])
    return total
