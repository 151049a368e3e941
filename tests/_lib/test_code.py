"""What makes stored numbers be computed again: the state of the code."""

import subprocess
from pathlib import Path

import pytest

import linrep
from linrep._lib import code, provenance

LEFT_OUT = ("deep", "papers/flute")


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Return the folder of a package with a file of each kind."""
    for name in ("__init__", "trace", "kernels/rounds", "cli/verify", "figures/record", "deep/nets",
                 "claims/claim", "papers/flute/theorem5_5", "papers/flute_tools"):  # fmt: skip
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(f"'''{name}'''\n")
    monkeypatch.setattr(linrep, "__file__", str(tmp_path / "__init__.py"))
    code._sources.cache_clear()
    yield tmp_path
    code._sources.cache_clear()


def state():
    code._sources.cache_clear()
    return code.state(*LEFT_OUT)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("__init__", True),
        ("trace", True),
        ("kernels/rounds", True),
        ("claims/claim", True),
        ("papers/flute_tools", True),
        ("papers/flute/theorem5_5", False),
        ("cli/verify", False),
        ("figures/record", False),
        ("deep/nets", False),
    ],
)
def test_an_edit_counts_where_numbers_are_made(package, name, counts):
    before = state()
    assert state() == before
    with (package / f"{name}.py").open("a") as file:
        file.write("# another line\n")
    assert (state() != before) is counts


def test_libraries_and_instructions_count(package, monkeypatch):
    before = state()
    with monkeypatch.context() as patch:
        patch.setattr(code, "version", lambda library: "0")
        assert state() != before
    with monkeypatch.context() as patch:
        patch.setattr(code.portable, "mode", lambda: "portable")
        portable = state()
        patch.setattr(code, "get_host_cpu_name", lambda: "another processor")
        assert state() == portable
    assert portable != before
    monkeypatch.setattr(code, "get_host_cpu_name", lambda: "another processor")
    assert state() != before


def test_what_makes_no_numbers_exists():
    folder = Path(linrep.__file__).parent
    names = [name for name in code.PRESENTING if name != "_experiments"]  # of an installation
    assert [name for name in names if not any(folder.glob(f"{name}*"))] == []


def git(folder, *arguments):
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_commit_is_that_of_the_clone_that_has_the_code(tmp_path, monkeypatch):
    def said():
        provenance.commit.cache_clear()
        return provenance.commit()

    code_file, script, notes = (
        tmp_path / name for name in ("linrep/__init__.py", "experiments/one.py", "notes")
    )
    for file in (code_file, script, notes):
        file.parent.mkdir(exist_ok=True)
        file.write_text("# one line\n")
    monkeypatch.setattr(linrep, "__file__", str(code_file))
    try:
        version = f"linrep {linrep.__version__}"
        assert said() == version
        git(tmp_path, "init")
        git(tmp_path, "add", "notes")  # of somebody else, in whose clone linrep is installed
        git(tmp_path, "commit", "-m", "one")
        assert said() == version
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-m", "two")
        asked = ["git", "rev-parse", "--short", "HEAD"]
        short = subprocess.run(asked, cwd=tmp_path, check=True, capture_output=True, text=True)
        short = short.stdout.strip()
        assert said() == short
        notes.write_text("are no code")
        assert said() == short
        for file in (code_file, script):
            file.write_text("# another line\n")
            assert said() == f"{short}-dirty"
            git(tmp_path, "checkout", str(file))
            assert said() == short
    finally:
        provenance.commit.cache_clear()
