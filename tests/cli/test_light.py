"""What shows stored texts runs no check: it imports no claim, and nothing that computes."""

import os
import subprocess
import sys

import pytest

from tests.test_import import HEAVY, ROOT

LIGHT = HEAVY - {"click", "numpy"}
CALLS = (
    "show fedrep.lemma5 -v",
    "show flute.theorem5.1* --note",
    "show pflmf",
    "verify --list --paper flute --verdict fails --severity statement",
)


def entered(*lines, folder):
    """Return which heavy modules and which modules of papers commands have loaded."""
    script = (
        "import sys\nfrom linrep.cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    try:\n        main(line.split(), prog_name='linrep')\n"
        "    except SystemExit as ended:\n        assert not ended.code, line\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *lines],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    names = done.stderr.splitlines()[-1].split()
    own = {name.split(".")[2] for name in names if name.startswith("linrep.papers.")}
    return LIGHT & set(names), own


def test_stored_texts_are_shown_without_the_code_that_checks_them(tmp_path):
    assert entered(*CALLS, folder=tmp_path) == (set(), set())


@pytest.mark.parametrize(
    "name", ["lr.statement('fedrep.lemma5')", "lr.statements", "lr.contents('flute')"]
)
def test_python_shows_them_as_lightly(name):
    script = f"import sys\nimport linrep as lr\nstr({name})\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = set(done.stdout.split())
    assert LIGHT & names == set()
    assert not [each for each in names if each.startswith("linrep.papers.")]


def test_where_a_store_has_runs_of_a_claim_its_paper_is_imported_and_no_other(tmp_path):
    run = tmp_path / "runs" / "verify" / "quick-0" / "pflmf.lemma3-0123456789ab" / "parts"
    run.mkdir(parents=True)
    (run / "a.parquet").touch()
    assert entered("show fedrep.lemma5", folder=tmp_path) == (set(), set())
    heavy, papers = entered("show pflmf.lemma3", folder=tmp_path)
    assert "numba" in heavy
    assert papers == {"pflmf"}
