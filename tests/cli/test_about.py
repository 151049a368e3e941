"""What linrep says of itself: its version, and its surroundings wherever something is missing."""

from importlib import metadata

from click.testing import CliRunner

import linrep
from linrep.cli import main, surroundings
from tests.tools import COMPILED


def test_the_version_alone_and_with_all_around_it():
    assert (
        CliRunner().invoke(main, ["--version"]).output == f"linrep, version {linrep.__version__}\n"
    )
    for words in (["--version", "-v"], ["-v", "--version"]):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0
        assert "unknown" not in done.output
        for name in surroundings.describe():
            assert f"\n{name} " in f"\n{done.output}"
    assert CliRunner().invoke(main, ["-v", "merge"]).exit_code == 2
    found = surroundings.describe()
    assert found["kernels"][0].startswith("kept in") == COMPILED
    assert f"numpy {metadata.version('numpy')}" in found["digits"][-1]


def test_what_is_missing_is_said_and_hides_nothing_else(monkeypatch):
    monkeypatch.setattr(surroundings, "_digits", lambda: 1 / 0)
    found = surroundings.describe()
    assert found["digits"] == ["unknown: ZeroDivisionError: division by zero"]
    assert found["linrep"][0].startswith(linrep.__version__)
