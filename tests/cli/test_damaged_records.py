"""Recorded files that are damaged: what reads them says so, and --record leaves them alone."""

import shutil
from importlib import import_module
from pathlib import Path

import pytest

import linrep as lr
from linrep._lib import papers
from linrep._lib.papers import Paper
from linrep._lib.records import Damaged, Unread
from linrep.claims import ledger, mutants, solvers
from linrep.cli import main
from linrep.figures import drawing
from tests.tools import rewrite, runner

SCRIPT = Path(__file__).parents[1].joinpath("toy_figure.py").read_text("utf-8")


def first(content):
    """Return the first claim of a ledger that is on line: with lines, constants and parts."""
    return next(each for each in content["claims"] if each["id"] == "pflmf.lemma4")


def constant(content):
    return next(iter(first(content)["sensitivity"].values()))


def line(content):
    return next(iter(first(content)["lines"].values()))


#: By kind: file, what shows it, what records it, and what entries with a digest that fits may have:
#: a key too few, a key too many, a value of another type, the id of another paper.
KINDS = {
    "ledger": (
        "pflmf/ledger.json", "show pflmf.lemma4",
        "verify pflmf.lemma4 --budget standard --record --native", {
            "missing": lambda content: first(content).pop("verdict"),
            "type": lambda content: first(content).update(n_trials="3"),
            "unknown": lambda content: first(content).update(perhaps=1),
            "foreign": lambda content: first(content).update(id="flute.lemma"),
            "former": lambda content: content.update(version=1),
        },
    ),
    "pictures": (
        "pflmf/ledger.parquet", "report pflmf.theorem1",
        "verify pflmf.lemma4 --budget standard --record --native", {},
    ),
    "sensitivity": (
        "pflmf/ledger.json", "show pflmf.lemma4", "verify --sensitivity --record pflmf.lemma4", {
            "missing": lambda content: constant(content).pop("value"),
            "type": lambda content: constant(content).update(moved=[]),
        },
    ),
    "answers": (
        "pflmf/ledger.json", "show pflmf.lemma4", "certify pflmf.lemma4 --record", {
            "missing": lambda content: line(content).pop("sha256"),
            "type": lambda content: line(content).update(answers=[]),
        },
    ),
    "figure": (
        "figures/mine.figure.json", "figures mine.py --check --native",
        "figures mine.py --record --native", {},
    ),
    "rows": (
        "figures/mine.figure.parquet", "figures mine.py --check --native",
        "figures mine.py --record --native", {},
    ),
}  # fmt: skip


def flip(path):
    """Change one bit in the middle of a file, where the letters of a text are."""
    before = bytearray(path.read_bytes())
    before[len(before) // 2] ^= 1
    path.write_bytes(before)


DAMAGES = {
    "flipped": flip,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "another's": lambda path: shutil.copy(
        Path("figures/mine.figure.json" if path.stem == "ledger" else "pflmf/ledger.json"), path
    ),
}  # fmt: skip
#: What no command may come to.
COMPUTING = (
    (import_module("linrep.claims.verify"), "verify"),
    (mutants, "measure"),
    (solvers, "ask"),
    (drawing, "compute"),
)
CASES = [
    (kind, damage)
    for kind, (file, *_, own) in KINDS.items()
    for damage in [*["gone"] * file.endswith("parquet"), *DAMAGES, *own]
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with a paper and its record, and a figure of one's own with its."""
    folder = tmp_path_factory.mktemp("whole")
    shutil.copytree(papers.FOLDER / "pflmf", folder / "pflmf")
    (folder / "mine.py").write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        call("figures mine.py --record --native --workers 1")
    shutil.rmtree(folder / "runs", ignore_errors=True)
    return folder


@pytest.fixture
def folder(whole, tmp_path, monkeypatch):
    """Return a copy of it, where the paper is that of a package; nothing may be computed."""
    folder = tmp_path / "folder"
    shutil.copytree(whole, folder)
    monkeypatch.chdir(folder)
    home = folder / "pflmf"
    paper = Paper("pflmf", "linrep.papers.pflmf", home)
    monkeypatch.setattr(papers, "_found", lambda: ({"pflmf": paper}, {}))
    monkeypatch.setattr(ledger, "own", lambda: [])
    for place, name in COMPUTING:
        monkeypatch.setattr(place, name, lambda *_, **__: pytest.fail("something is computed"))
    return folder


def call(line):
    """Return the exit status of a command and the lines that it prints."""
    result = runner().invoke(main, line.split())
    assert result.exception is None or isinstance(result.exception, SystemExit), line
    return result.exit_code, (result.stdout + result.stderr).splitlines()


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("kind", "damage"), CASES, ids=map(" ".join, CASES))
def test_what_is_damaged_is_said_and_stays_as_it_is(folder, kind, damage):
    file, reading, recording, own = KINDS[kind]
    path = folder / file
    if damage == "gone":
        path.unlink()
    elif damage in DAMAGES:
        DAMAGES[damage](path)
    else:
        rewrite(path, own[damage])
    before = contents(folder)
    status, said = call(reading)
    assert status == (2 if "--check" in reading else 0)
    (line,) = (line for line in said if path.name in line)
    assert any(word in line for word in ("to restore it", "put a copy", "once it is removed"))
    (folder / "report.html").unlink(missing_ok=True)
    status, said = call(recording)
    assert status == 2
    assert said[-1].startswith("Error: ")
    assert all(path.name in line for line in said)
    assert contents(folder) == before


def test_where_a_picture_cannot_be_read_a_notebook_shows_the_rest(folder):
    flip(folder / "pflmf" / "ledger.parquet")
    with pytest.warns(Unread, match=r"ledger\.parquet, of ledger\.json, is not what was written"):
        text = lr.statement("pflmf.theorem1")._repr_markdown_()
    assert "fails" in text
    assert "data:image" not in text


def test_linreps_own_ledger_is_refused(folder, monkeypatch):
    monkeypatch.setattr(ledger, "own", lambda: ["pflmf"])
    flip(folder / "pflmf" / "ledger.json")
    for line in ("show pflmf.lemma4", "verify --list", "report pflmf.lemma4"):
        status, said = call(line)
        assert (status, len(said)) == (2, 1)
        assert "ledger.json is damaged: it is not as it was written; " in said[0]


def test_texts_that_are_not_recorded_are_those_of_the_code(folder):
    path = folder / "pflmf" / "ledger.json"
    whole = ledger.known(["pflmf"])
    flip(path)
    with pytest.warns(Unread, match="the texts are those of its code"):
        of_code = ledger.known(["pflmf"])
    path.unlink()
    assert ledger.known(["pflmf"]) == of_code
    assert [item.latex for item in of_code.values()] == [item.latex for item in whole.values()]
    assert {item.verdict for item in of_code.values()} == {"unchecked"}


def test_a_remedy_fits_where_a_file_is(folder):
    def remedy(*place):
        path = folder.joinpath(*place, "ledger.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{")
        with pytest.raises(Damaged) as caught:
            ledger.recorded(path)
        return str(caught.value).partition("; ")[2]

    assert remedy("one") == "put a copy of it in its place, or remove it to begin anew"
    assert remedy("lib", "site-packages", "toy") == "to restore it, install toy again"
    (folder / ".git").mkdir()
    assert remedy("two words") == (
        f"to restore it as it was committed: git checkout -- '{folder}/two words/ledger.json'"
    )
    assert remedy(".venv", "site-packages", "toy") == "to restore it, install toy again"
