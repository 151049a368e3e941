"""What shows stored texts runs no check: it imports no claim, and nothing that computes."""

from tests.test_import import HEAVY, loaded

LIGHT = HEAVY - {"click", "numpy"}
SHOWN = (
    "show fedrep.lemma5 -v",
    "show flute.theorem5.1* --note",
    "show pflmf",
    "verify --list --paper flute --verdict fails",
)
IN_PYTHON = ("lr.statement('fedrep.lemma5')", "lr.statements", "lr.contents('flute')")


def command(line):
    return f"from linrep.cli import main; main({line.split()!r}, prog_name='linrep')"


def entered(*statements, folder=None):
    """Return which heavy modules and which modules of papers are loaded."""
    found = []
    for _, names in loaded(*statements, folder=folder):
        papers = {name.split(".")[2] for name in names if name.startswith("linrep.papers.")}
        found.append((LIGHT & names, papers))
    return found


def test_stored_texts_are_shown_without_the_code_that_checks_them(tmp_path):
    statements = [f"import linrep as lr; str({name})" for name in IN_PYTHON]
    statements += map(command, SHOWN)
    assert entered(*statements, folder=tmp_path) == [(set(), set())] * len(statements)


def test_where_a_store_has_runs_of_a_claim_its_paper_is_imported_and_no_other(tmp_path):
    run = tmp_path / "runs" / "verify" / "quick-0" / "pflmf.lemma3-0123456789ab" / "parts"
    run.mkdir(parents=True)
    (run / "a.parquet").touch()
    calls = map(command, ("show fedrep.lemma5", "show pflmf.lemma3"))
    (heavy, papers), (computing, own) = entered(*calls, folder=tmp_path)
    assert (heavy, papers) == (set(), set())
    assert "numba" in computing
    assert own == {"pflmf"}
