"""What a bench is, and when its contenders agree."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tests.tools import FALSE_ALARM

_SEEDS = range(100)


@dataclass(frozen=True)
class Bench:
    """One computation at one size: by linrep, by NumPy and, where that makes sense, by JAX.

    Contenders are called without arguments and return arrays. `jax` takes the module and returns
    the contender, which it compiles. Those of `own_numbers` draw others than NumPy: they take a
    seed, as NumPy then does, and `law` makes one positive number of what they return.
    """

    size: str
    units: int  # rounds or replicates in a call
    linrep: dict[str, Callable[..., Any]]
    numpy: Callable[..., Any]
    jax: Callable[[Any], Callable[..., Any]] | None = None
    own_numbers: tuple[str, ...] = ()
    law: Callable[..., float] | None = None

    @property
    def names(self):
        return [*self.linrep, "NumPy", *(["JAX"] if self.jax else [])]

    def contender(self, name):
        """Return what is called; skip the test where it is JAX's and JAX is not installed."""
        if name == "JAX":
            os.environ["NPROC"] = "1"  # threads that XLA makes
            jax = pytest.importorskip("jax")
            jax.config.update("jax_enable_x64", True)
            return self.jax(jax)
        return self.numpy if name == "NumPy" else self.linrep[name]


def compiled_rounds(jax, one, start, rounds):
    """Return a call of so many rounds in JAX, each of which takes a state and returns the next."""
    run = jax.jit(
        lambda *state: jax.lax.scan(lambda at, _: (one(*at), None), state, length=rounds)[0]
    )
    arrays = [jax.numpy.asarray(each) for each in start]
    return lambda: jax.block_until_ready(run(*arrays))


def assert_agrees(bench, name, call):
    """Compare what a contender returns with what NumPy returns: digits, or laws of own numbers."""
    if name not in bench.own_numbers:
        for ours, theirs in zip(call(), bench.numpy(), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-10 * np.abs(theirs).max())
        return
    ours, theirs = (
        np.log([bench.law(*each(seed)) for seed in _SEEDS]) for each in (call, bench.numpy)
    )
    error = np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / len(_SEEDS))
    assert abs(ours.mean() - theirs.mean()) <= norm.isf(FALSE_ALARM / 2.0) * error
