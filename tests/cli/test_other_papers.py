"""What is asked of one paper imports nothing of the packages that bring others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import linrep

ROOT = Path(linrep.__file__).parents[1]
MARKED = "import os\nopen(os.environ['MARKER'], 'a').write(__name__ + '\\n')\n"
CLAIM = """
from linrep.claims import Identity, statement

@statement("{name}.one", place="here", latex="x", plain="One.", negative_control={{"x": 2}})
def one(budget, rng, *, x=1):
    yield Identity([(abs(x - 1), {{"x": x}})], 1e-12)
"""
FIGURE = '\nEXPERIMENT = Experiment(\n    id="{name}.figure1",\n    title="Of {name}",\n)\n'
#: What is asked, and of which package it may import something.
ASKED = {
    "figures --list": "",
    "figures --list fedrep.*": "",
    "figures --list alpha.*": "",
    "show fedrep.lemma5": "",
    "show fedrep": "",
    "show fedrep.figure1": "",
    "show --cite fedrep.lemma1": "",
    "verify --list fedrep.*": "",
    "verify --list --paper fedrep": "",
    "verify fedrep.definition1": "",
    "certify fedrep.eq67": "",
    "verify fedrep.definition1 --sensitivity": "",
    "report fedrep.lemma1": "",
    "verify alpha.one": "alpha",
    "show alpha.one": "alpha",
    "report alpha.one": "alpha",
}
CALLED = """
import os
import sys
from pathlib import Path
from click.testing import CliRunner
from linrep.cli import main

marker = Path(os.environ["MARKER"])
for words in {calls}:
    marker.write_text("")
    done = CliRunner().invoke(main, words.split())
    imported = dict.fromkeys(marker.read_text().split())
    print(words, "|", done.exit_code, "|", " ".join(imported))
    for name in imported:  # so that the next call would import it again
        del sys.modules[name]
"""


@pytest.fixture
def packages(tmp_path):
    """Two packages with a paper each, which note what is imported of them."""
    for name in ("alpha", "beta"):
        package = tmp_path / f"linrep_{name}"
        (package / "figures").mkdir(parents=True)
        (package / "__init__.py").write_text(MARKED)
        (package / "one.py").write_text(MARKED + CLAIM.format(name=name))
        (package / "certificates.py").write_text(MARKED)
        (package / "figures" / "figure1.py").write_text(MARKED + FIGURE.format(name=name))
        info = tmp_path / f"linrep_{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: linrep-{name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[linrep.papers]\n{name} = linrep_{name}\n")
    return tmp_path


def test_other_papers_are_not_imported(packages, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CALLED.format(calls=list(ASKED))],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)]),
            "MARKER": str(tmp_path / "marker"),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(" | ", 1) for line in done.stdout.splitlines())
    assert lines.keys() == ASKED.keys()
    odd = []
    for words, line in lines.items():
        status, _, imported = line.partition(" | ")
        owners = {name.partition(".")[0].removeprefix("linrep_") for name in imported.split()}
        needs_solvers = words.startswith("certify") and status == "2"
        if (status != "0" and not needs_solvers) or not owners <= {ASKED[words]}:
            odd.append((words, status, imported))
    assert not odd
