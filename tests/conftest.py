"""Hypothesis profiles, NumPy's error state and a random stream for the statistical tests."""

import os
import signal
import sys
from pathlib import Path

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


def pytest_addoption(parser):
    """Let a file have what was skipped, to be run where what it needs is there."""
    parser.addoption(
        "--skipped-into",
        metavar="FILE",
        help="Write what was skipped, a line each: the id, a tab, the reason.",
    )


class _Skipped:
    """Writes what was skipped at the end; of a file that is skipped whole, the file."""

    def __init__(self, path):
        self._path, self._reasons = Path(path), {}

    def pytest_collectreport(self, report):
        if report.skipped:
            self._reasons[report.nodeid] = report.longrepr[2]

    def pytest_runtest_logreport(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            self._reasons[report.nodeid] = report.longrepr[2]

    def pytest_sessionfinish(self):
        lines = [f"{id}\t{' '.join(reason.split())}\n" for id, reason in self._reasons.items()]
        self._path.write_text("".join(sorted(lines)))


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
    path = config.getoption("--skipped-into")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Skipped(path))
    # As what tests start hears them, also where a script's background ignores them.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def forgotten_modules(tmp_path_factory):
    """Forget what a test has imported from folders of its own: others use the names, too."""
    before = set(sys.modules)
    yield
    own = str(tmp_path_factory.getbasetemp())
    for name in sys.modules.keys() - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(own):
            del sys.modules[name]


@pytest.fixture
def fresh_rng():
    """A generator of new random numbers in every run, for tests with a stated error level.

    A failure prints the line that, put into the environment, repeats it.
    """
    entropy = int(os.environ.get("LINREP_TEST_ENTROPY", np.random.SeedSequence().entropy))
    print(f"LINREP_TEST_ENTROPY={entropy}")
    return np.random.default_rng(entropy)
