"""Claims as pytest tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from linrep.claims import claims, load_file
from linrep.claims.ledger import record
from linrep.claims.record import Record
from linrep.claims.verify import verify
from linrep.testing import claim_tests
from tests.tools import complaint

FILE = """
from linrep.claims import Condition, Frequency, statement


def claim(name, **options):
    return statement(
        name, place="p", latex="x", plain="X.",
        negative_control={"good": False}, **options,
    )


@claim("mine.true")
def true(budget, rng, *, good=True):
    yield Condition(good, measured=1.0)


@claim("mine.refuted", expected="fails")
def refuted(budget, rng, *, good=True):
    yield Condition(False, measured=1.0)


@claim("mine.wrong")
def wrong(budget, rng, *, good=True):
    yield Condition(False, measured=1.0)


@claim("mine.credulous")
def credulous(budget, rng, *, good=True):
    yield Condition(True, measured=1.0)


@claim("mine.unclear")
def unclear(budget, rng, *, good=True):
    yield Frequency(0 if good else 10, 10, 0.01)
"""

RANDOM = """
from linrep.claims import Mean, statement


@statement("mine.random", plain="X.", negative_control={"most": -9.0})
def random(budget, rng, *, most=0.0):
    yield Mean(rng.spawn(1)[0].normal(0.0, 1.0, 30), at_most=most)
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "some_claims.py").write_text(FILE)
    return tmp_path / "some_claims.py"


def test_claims_of_a_file_become_tests(file):
    test = file.parent / "test_claims.py"
    test.write_text(
        "from linrep.testing import claim_tests\ntest_claims = claim_tests('some_claims.py')\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", test.name],
        capture_output=True, text=True, cwd=file.parent, check=False,
    )  # fmt: skip
    lines = [line for line in run.stdout.splitlines() if line.startswith(("PASSED", "FAILED"))]
    outcomes = {line.split("[")[1].split("]")[0]: line.split()[0] for line in lines}
    assert outcomes == {
        "mine.true": "PASSED", "mine.true-control": "PASSED",
        "mine.refuted": "PASSED", "mine.refuted-control": "PASSED",
        "mine.wrong": "FAILED", "mine.wrong-control": "PASSED",
        "mine.credulous": "PASSED", "mine.credulous-control": "FAILED",
        "mine.unclear": "FAILED", "mine.unclear-control": "PASSED",
    }  # fmt: skip
    assert "mine.wrong fails, expected holds" in run.stdout
    assert "does not reject the negative control {'good': False}" in run.stdout
    assert "runs without a violation" in run.stdout


def test_numbers_are_those_of_the_command(tmp_path):
    """So that a test that fails is looked at with linrep verify."""
    path = tmp_path / "random_claims.py"
    path.write_text(RANDOM)
    made = load_file(path)["mine.random"]
    (result,) = verify([made], seed=3, store=tmp_path / "store", file=path)
    assert result.control == "fails"
    test = claim_tests(path, seed=3)
    with pytest.raises(AssertionError, match=f"{result.measured:.4g}"):
        test(made, False)


def test_a_ledger_says_what_is_expected(file):
    book = file.parent / "own.json"
    entry = {"verdict": "fails", "sentence": "", "budget": "quick", "seed": 0, "seconds": 0.1}
    recorded = [
        Record(id="mine.wrong", **entry),
        Record(id="mine.unclear", **entry | {"verdict": "holds", "budget": "standard"}),
        Record(id="mine.true", **entry),
    ]
    made = load_file(file)
    record(recorded, made, book)
    test = claim_tests(file, ledger=book)
    test(made["mine.wrong"], False)
    test(made["mine.unclear"], False)  # with a larger budget it was decided
    test(made["mine.refuted"], False)  # not in the ledger
    with pytest.raises(AssertionError, match=r"mine\.true holds, expected fails"):
        test(made["mine.true"], False)
    with complaint(ValueError, "ledger", "no such file"):
        claim_tests(file, ledger=file.parent / "nowhere.json")


test_of_the_papers = claim_tests(claims().values(), only=["pflmf.lemma3", "fedrep.definition1"])


def test_bad_arguments_are_refused(file):
    with complaint(ValueError, "budget", "'slow'"):
        claim_tests(file, budget="slow")
    with complaint(ValueError, "'other.*'"):
        claim_tests(file, only=["other.*"])
    with complaint(ValueError, "source"):
        claim_tests([])
    with complaint(ValueError, "no such file"):
        claim_tests(Path("nowhere.py"))
