"""What the shell is offered, and that it is offered quickly."""

import pytest
from click.shell_completion import ShellComplete

from linrep.claims import ledger
from linrep.cli import main
from linrep.figures import experiment
from linrep.simulation import ALGORITHMS
from tests.cli.support import call
from tests.test_import import HEAVY, loaded

SWEPT = "def measure(cell, rng):\n    return {'error': 1.0, 'loss': 2.0}\n"


@pytest.fixture
def stored(folder):
    (folder / "swept.py").write_text(SWEPT)
    call("sweep --function swept.py:measure --size 1,2 --rate 3 --out runs/mine")
    (folder / "runs" / "no").mkdir()
    return folder


def offered(*words):
    """Return what is offered for the last of the words."""
    complete = ShellComplete(main, {}, "linrep", "_LINREP_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_names_of_what_comes_with_linrep():
    assert offered("verify", "") == list(ledger.recorded())
    assert offered("report", "") == list(ledger.recorded())
    assert offered("figures", "") == experiment.available()
    assert offered("sweep", "") == list(ALGORITHMS)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("ver",), ["verify"]),
        (("verify", "--bud"), ["--budget"]),
        (("verify", "--budget", "st"), ["standard"]),
        (("figures", "fedrep.figure1"), ["fedrep.figure1"]),
        (("sweep", "fed"), ["fedavg", "fedrep", "fedsgd"]),
        (("sweep", "fedrep,fl"), ["fedrep,flute"]),
        (("sweep", "fedrep", "--ba"), ["--batches"]),
        (("sweep", "fedrep", "--replicates", "3", "--n", "5", "--orth"), ["--orthonormal"]),
        (("sweep", "--n", "5", "fedrep", "--ba"), ["--batches"]),
        (("sweep", "fedrep,flute", "--agg"), ["--aggregate"]),
        (("sweep", "fedrep", "--batches", "gram", "--ba"), []),  # which is given
        (("sweep", "fedrep", "--problem", "completion", "--kap"), ["--kappa"]),
        (("sweep", "--ba"), []),
        (("sweep", "own.py:f", "--ba"), []),  # which is not loaded
        (("sweep", "deep.fedrep", "--ba"), []),
        (("sweep", "fedrep", "--start", "m"), ["moments", "models"]),
        (("sweep", "fedrep", "--start", "=", "m"), ["moments", "models"]),  # as bash has --start=m
        (("sweep", "fedrep", "--start", "random,m"), ["random,moments", "random,models"]),
        (("sweep", "--n", "5", "fedavg", "--batches", ""), ["fresh", "fixed", "gram"]),
        (("sweep", "fedrep", "--orthonormal", ""), ["true", "false"]),
        (("sweep", "fedrep", "--n", ""), []),
        (("sweep", "fedrep", "fl"), []),  # several are one word
        (("figures", "fedrep.figure3", "--r"), ["--replicates", "--record", "--rounds"]),
        (("figures", "flute.figure3", "--ep"), ["--epochs"]),
    ],
)
def test_what_is_offered_behind_words(words, found):
    assert offered(*words) == found


def test_runs_and_what_they_hold(stored):
    for command in ("summary", "plot"):
        assert offered(command, "ru") == ["runs/mine"]
    assert offered("merge", "runs/all", "runs/m") == ["runs/mine"]
    assert offered("summary", "runs/mine", "") == ["error", "loss", "seconds"]
    assert offered("summary", "runs/mine", "error", "--by", "") == ["size", "rate"]
    assert offered("plot", "runs/mine", "loss", "--x", "s") == ["size"]
    assert offered("summary", "runs/mine", "loss", "--exponents", "size,") == [
        "size,size", "size,rate"
    ]  # fmt: skip


@pytest.mark.parametrize("content", ["", "[1]", '{"cells": 3}', '{"cells": [3]}'])
def test_what_is_no_run_directory_offers_nothing(stored, content):
    (stored / "runs" / "mine" / "sweep.json").write_text(content)
    for part in (stored / "runs" / "mine" / "parts").glob("*.parquet"):
        part.write_bytes(b"PAR1")
    assert offered("summary", "runs/mine", "") == []
    assert offered("summary", "runs/mine", "error", "--by", "") == []
    assert offered("summary", "runs/no", "") == []


LINES = (
    "linrep verify fedrep.lem", "linrep figures pf", "linrep sweep ", "linrep sweep fedrep --ba",
    "linrep sweep fedrep --start m", "linrep figures fedrep.figure3 --r",
)  # fmt: skip


def test_nothing_heavy_is_loaded_for_it():
    calls = []
    for words in LINES:
        variables = {
            "_LINREP_COMPLETE": "bash_complete", "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        }  # fmt: skip
        calls.append(
            f"import os; os.environ.update({variables!r})\n"
            "from linrep.cli import main; main(prog_name='linrep')"
        )
    for said, names in loaded(*calls):
        assert said
        assert all(line.startswith("plain,") for line in said.splitlines())
        assert {name.partition(".")[0] for name in names} & HEAVY <= {"click"}
