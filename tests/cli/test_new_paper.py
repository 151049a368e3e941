"""linrep new paper: a package whose paper the commands know as they know linrep's own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from linrep._lib.records import content
from linrep.cli.new import PAPER
from tests.test_import import ROOT

ALL = ("toy.figure1", "toy.lemma1", "toy.remark1", "toy.remark1.corrected", "toy.theorem1")


def call(folder, *words, status=0, path=()):
    """Run Python in a folder, and return what it prints."""
    path = os.pathsep.join(map(str, [ROOT, *path]))
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def installed(repository, site):
    """Write what an installer would, and return the path on which the paper is found."""
    about = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    info = site / f"{about['name'].replace('-', '_')}-{about['version']}.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text(f"Name: {about['name']}\nVersion: {about['version']}\n")
    ((group, lines),) = about["entry-points"].items()
    ((name, module),) = lines.items()
    info.joinpath("entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
    return [repository / "src", site]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the repository of a new paper."""
    folder = tmp_path_factory.mktemp("papers")
    said = call(folder, "-m", "linrep", "new", "paper", "toy", "--title", "A toy")
    assert "linrep verify 'toy.*'" in said
    return folder / "linrep-toy"


@pytest.fixture(scope="module")
def linrep(written):
    """Return the command line where the paper is installed, and its verdicts are recorded."""
    path = installed(written, written.parent / "site")

    def linrep(*words, status=0, program=("-m", "linrep"), folder=written):
        return call(folder, *program, *words, status=status, path=path)

    assert "unchecked" in linrep("show", "toy.lemma1")
    said = linrep("verify", "toy.*", "--budget", "standard", "--record", "--figures", "pictures")
    assert "5 claims: 4 hold, 1 fails" in said
    return linrep


def test_all_is_filled_in(written):
    files = [path for path in written.rglob("*") if path.is_file()]
    assert len(files) == sum(path.is_file() for path in PAPER.rglob("*"))
    assert not [path.name for path in files if "{{" in path.read_text("utf-8")]
    assert not [path.name for path in files if path.suffix == ".txt"]


def test_verdicts_texts_and_pictures_are_recorded(written, linrep):
    folder = written / "src" / "linrep_toy"
    entries = {item["id"]: item["verdict"] for item in content(folder / "ledger.json")["claims"]}
    assert entries == {**dict.fromkeys(ALL, "holds"), "toy.remark1": "fails"}
    assert (folder / "ledger.parquet").is_file()
    assert (written / "pictures" / "toy.theorem1.png").is_file()


@pytest.mark.slow
def test_the_record_is_compared_with(linrep):
    said = linrep("verify", "toy.*")
    assert "rejected" in said
    assert "5 of" in said
    assert "5 as recorded" in said


def test_what_is_recorded_is_shown_without_importing_the_package(linrep, tmp_path):
    script = (
        "import sys\nfrom linrep.cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    try:\n        main(line.split(), prog_name='linrep')\n"
        "    except SystemExit as ended:\n        assert not ended.code, line\n"
        "print([name for name in sys.modules if name.startswith('linrep_toy')])\n"
    )
    expected = {
        "show toy.remark1": "the cross term 2ab is missing",
        "show toy.remark1.corrected -v": "(a − b)² ≥ 0",
        "show toy": "A toy: 5 equations and sentences, 1 without a claim",
        "verify --list --paper toy --verdict fails": "toy.remark1  fails  exact",
        "verify --list": "fedrep.lemma5",
    }
    said = linrep(*expected, program=("-c", script), folder=tmp_path)
    assert [text for text in expected.values() if text not in said] == []
    assert "[]" in said.splitlines()


@pytest.mark.slow
def test_its_own_tests_pass(linrep):
    said = linrep("-q", "-p", "no:cacheprovider", program=("-m", "pytest"))
    assert "15 passed" in said


@pytest.mark.slow
def test_the_report_solvers_and_figures_take_it(written, linrep):
    linrep("report", "toy.*", "--out", "report.html")
    page = (written / "report.html").read_text("utf-8")
    assert "A toy" in page
    assert all(name in page for name in ALL)
    pytest.importorskip("z3")
    pytest.importorskip("cvc5")
    assert "1 proved by both solvers" in linrep("certify", "toy.*", "--record")
    assert "z3" in linrep("show", "toy.remark1.corrected")
    assert "toy.figure1" in linrep("figures", "--list")
    assert "Error of a mean" in linrep("figures", "toy.figure1", "--quick")


#: A file, what stands in it, and what is put there.
MISTAKES = [
    ("findings.md", "`toy.remark1`: ", "`toy.noremark1`: "),
    ("proofs.md", "`toy.remark1.corrected`: ", "`toy.noremark1.corrected`: "),
    ("contents.toml", '"toy.theorem1"', '"toy.notheorem1"'),
    ("contents.toml", "\n[[item]]", "[[item"),
]
MISTAKEN = """
from pathlib import Path
from linrep.cli import main
for name, place, mistake in {}:
    page = Path(name)
    before = page.read_text("utf-8")
    page.write_text(before.replace(place, mistake, 1), "utf-8")
    try:
        main(["verify", "toy.*"], prog_name="linrep")
    except SystemExit as ended:
        print(ended.code)
    page.write_text(before, "utf-8")
"""


def test_files_that_are_of_no_claim_are_refused_before_anything_is_computed(
    written, linrep, tmp_path
):
    cases = [(f"{written}/src/linrep_toy/{name}", *change) for name, *change in MISTAKES]
    script = MISTAKEN.format(cases)
    lines = linrep(program=("-c", script), folder=tmp_path).splitlines()
    assert lines[:4] == ["2"] * 4
    for (page, place, mistake), said in zip(cases, lines[4:], strict=True):
        before, there, _ = Path(page).read_text("utf-8").partition(place)
        assert there
        if "toy." in mistake:
            number = before.count("\n") + 1
            assert said.startswith(f"Error: {page}:{number}: no statement 'toy.no")
            assert "did you mean toy." in said
        else:
            assert "contents.toml" in said
            assert "line" in said
    assert not (tmp_path / "runs").exists()


def test_its_site_is_built(written, linrep):
    pytest.importorskip("myst_parser")
    linrep("-q", "-W", "docs", "docs/_build", program=("-m", "sphinx"))
    page = (written / "docs" / "_build" / "index.html").read_text("utf-8")
    assert "Remark 1" in page
    assert 'href="ledger/toy.html#claim-toy-remark1"' in page
    proofs = (written / "docs" / "_build" / "proofs.html").read_text("utf-8")
    assert proofs.index("any real numbers") < proofs.index("is not negative")


@pytest.mark.slow
def test_pip_installs_it(written, tmp_path):
    pytest.importorskip("hatchling")
    pip = ("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", "there")
    call(tmp_path, *pip, str(written))
    assert (tmp_path / "there" / "linrep_toy" / "contents.toml").is_file()
    said = call(tmp_path, "-m", "linrep", "verify", "toy.*", path=[tmp_path / "there"])
    assert "5 claims: 4 hold, 1 fails" in said
