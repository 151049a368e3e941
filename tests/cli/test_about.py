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


def test_versions_libraries_and_places():
    found = surroundings.describe()
    assert found["linrep"][0].startswith(linrep.__version__)
    assert found["numpy"] == [metadata.version("numpy")]
    assert found["BLAS"]
    assert found["kernels"][0].startswith("kept in") == COMPILED
    own = {name.partition(">")[0] for name in metadata.requires("linrep") if "extra" not in name}
    assert {"numpy", "scipy", "numba"} <= own <= set(found)


def test_what_is_missing_is_said_and_hides_nothing_else(monkeypatch):
    def broken(name):
        if name == "scipy":
            raise OSError("no\nsuch library")
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(surroundings, "version", broken)
    monkeypatch.setattr(surroundings, "requires", broken)  # linrep is on the path alone
    monkeypatch.setattr(surroundings, "_blas", lambda: 1 / 0)
    found = surroundings.describe()
    assert found["scipy"] == ["unknown: OSError: no such library"]
    assert found["numpy"] == ["-"]
    assert found["BLAS"] == ["unknown: ZeroDivisionError: division by zero"]
    assert found["linrep"][0].startswith(linrep.__version__)
