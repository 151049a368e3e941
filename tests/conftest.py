"""Hypothesis profiles, NumPy's error state and a random stream for the statistical tests."""

import os
import signal

os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest
from hypothesis import settings

from tests.tools import COMPILED

# New examples in every run at a desk; the same ones on a server, where a change is to be judged and
# not the luck of the draw.
fixed = bool(os.environ.get("CI"))
settings.register_profile(
    "default", max_examples=60, deadline=None, print_blob=True, derandomize=fixed
)
settings.register_profile(
    "nojit", max_examples=30, deadline=None, print_blob=True, derandomize=fixed
)
# For an hour in which nothing else needs the machine: pytest --hypothesis-profile thorough
settings.register_profile("thorough", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile("default" if COMPILED else "nojit")


def pytest_configure(config):
    """Set what no option can: surroundings, warnings without compilation, and interrupts."""
    for size in ("COLUMNS", "LINES"):  # of whoever starts the tests, pytest-xdist among them
        os.environ.pop(size, None)
    # Networks are trained where they are compared with NumPy, also on a machine with a GPU.
    os.environ["LINREP_DEVICE"] = os.environ.get("LINREP_TEST_DEVICE", "cpu")
    if not COMPILED:
        # Compiled kernels follow IEEE arithmetic silently, in all threads; NumPy's scalars warn.
        of_numpy = "(divide by zero|overflow|underflow|invalid value) encountered"
        config.addinivalue_line("filterwarnings", f"ignore:{of_numpy}:RuntimeWarning")
    # As what tests start hears them, also where a script's background ignores them.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def fresh_rng():
    """A generator of new random numbers in every run, for tests with a stated error level.

    A failure prints the line that, put into the environment, repeats it.
    """
    entropy = int(os.environ.get("LINREP_TEST_ENTROPY", np.random.SeedSequence().entropy))
    print(f"LINREP_TEST_ENTROPY={entropy}")
    return np.random.default_rng(entropy)
