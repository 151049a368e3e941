"""Counterexamples in fractions: evaluated by the standard library, and what proves a failure."""

import ast
import subprocess
import sys
from fractions import Fraction

import pytest

from linrep._lib.papers import FOLDER
from linrep.claims import claims, counterexamples, ledger
from linrep.claims.evidence import EXACT, FAILS, INTERVALS
from tests.tools import complaint

FILES = counterexamples.among(claims())


def test_every_file_is_of_a_claim_that_fails_as_printed_or_in_a_reading():
    there = set(FOLDER.glob("*/counterexamples/*.py"))
    assert there == set(FILES.values())
    assert FILES
    entries = ledger.recorded()
    for name in FILES:
        readings = {each["verdict"] for each in entries[name].readings}
        assert FAILS in {entries[name].verdict, *readings}


def test_they_are_evaluated_by_the_standard_library_alone():
    command = [sys.executable, "-I", "-S", counterexamples.__file__, *map(str, FILES.values())]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count(" > ") == len(FILES)


def test_they_use_no_floating_point():
    wrong = []
    for path in FILES.values():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
                wrong.append(f"{path.name}: {node.value}")
            if isinstance(node, ast.Name) and node.id in ("float", "complex", "math"):
                wrong.append(f"{path.name}: {node.id}")
    assert not wrong


@pytest.mark.parametrize(("right", "status"), [("Fraction(1, 3)", 0), ("1", 1)])
def test_what_is_no_counterexample_is_told(tmp_path, capsys, right, status):
    path = tmp_path / "one.py"
    path.write_text(
        f"from fractions import Fraction\ndef sides():\n    return Fraction(1, 2), {right}\n"
    )
    assert counterexamples.main([str(path)]) == status
    assert ("> 0.333333" in capsys.readouterr().out) == (status == 0)
    assert counterexamples.is_one(path) == (status == 0)
    assert counterexamples.evaluate(path)[0] == Fraction(1, 2)


def test_a_side_that_was_rounded_is_refused(tmp_path):
    path = tmp_path / "one.py"
    path.write_text("def sides():\n    return .5, 0\n")
    with complaint(TypeError, "0.5"):
        counterexamples.evaluate(path)


def test_every_failure_that_is_exact_has_a_file_or_is_enclosed():
    wrong = [
        name
        for name, entry in ledger.recorded().items()
        if (entry.verdict, entry.strength) == (FAILS, EXACT)
        and name not in FILES
        and not any(part.ground == INTERVALS for part in entry.parts if part.verdict == FAILS)
    ]
    assert wrong == []
