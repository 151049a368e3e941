"""Strengths that nobody can type: what false claims are shown as, whoever calls them proved."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from linrep._lib.papers import papers
from linrep.claims import Condition, Frequency, claim, ledger, prose
from linrep.claims.evidence import CERTIFIED, DERIVED, EXACT, PROVED
from linrep.claims.laws import Region, at_most, lines
from linrep.claims.record import Record
from linrep.claims.verdict import judge
from linrep.cli import main
from tests.tools import complaint

EARNED = (CERTIFIED, EXACT, DERIVED)

#: Each is false, and its check says that it is proved.
FALSE = {
    "mine.grid": """
@statement("mine.grid", plain="x(1-x) <= 1/5 on [0, 1].", negative_control={"top": 0.1})
def grid(budget, rng, *, top=0.2):
    yield Cases([(x * (1 - x), top, {"x": x}) for x in (0.0, 0.1, 0.2)], strength=PROVED)
""",
    "mine.bold": """
@statement("mine.bold", plain="x(1-x) <= 1/4 - 1/10000.", negative_control={"top": Fraction(1, 5)})
def bold(budget, rng, *, top=Fraction(1, 4) - Fraction(1, 10_000)):
    grid = [Fraction(2 * i + 1, 40) for i in range(20)]
    yield proved(Cases([(x * (1 - x), top, {"x": x}) for x in grid]))
""",
    "mine.rare": """
@statement("mine.rare", plain="It never happens.", negative_control={"seen": 950})
def rare(budget, rng, *, seen=100):
    yield Frequency(seen, 1000, 0.9, strength=PROVED)
""",
    # Of another's derivation: flute.eq3 has a section in the paper's page.
    "flute.eq3": """
@statement("flute.eq3", plain="Every number is 0.", negative_control={"size": 1.0})
def eq3(budget, rng, *, size=0.0):
    yield proved(Condition(size == 0.0))
""",
    # "It fails", where numbers are exact and nothing is compared.
    "mine.failure": """
@statement("mine.failure", plain="1 < 2.", negative_control={"other": 1}, expected="fails")
def failure(budget, rng, *, other=2):
    yield Condition(False, Fraction(1), Fraction(other), strength=PROVED)
""",
    # Of lines that nobody has asked a solver for.
    "mine.lines": """
@lines("mine.lines", Region(x=(0, Fraction(1, 4))))
def square(x, *, top=Fraction(1, 5)):
    return at_most(x * (1 - x), top)


@statement("mine.lines", plain="x(1-x) <= 1/5 on [0, 1].", negative_control={"top": 0.1})
def on_a_part(budget, rng, *, top=Fraction(1, 5)):
    yield square.measure(top=top)
""",
    "mine.samples": """
@statement("mine.samples", plain="Means are 0.", negative_control={"at": 1.0})
def samples(budget, rng, *, at=0.0):
    yield proved(Mean(at + 1e-9 * rng.normal(size=50), at_most=0.5))
""",
}
HEAD = """
from fractions import Fraction

from linrep.claims import Cases, Condition, Frequency, Mean, proved, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Region, at_most, lines
"""


@pytest.mark.parametrize("id", FALSE)
def test_a_false_claim_is_not_shown_as_more_than_was_measured(id, tmp_path, run_linrep):
    Path(tmp_path, "own.py").write_text(HEAD + FALSE[id])
    said = run_linrep("verify", "own.py", "--json", "own.json", "--ledger", "book.json", "--record")
    shown = run_linrep("show", "own.py", id, "--ledger", "book.json")
    (result,) = json.loads(Path(tmp_path, "own.json").read_text())
    entry = ledger.recorded(tmp_path / "book.json")[id]
    strengths = {result["strength"], entry.strength}
    strengths |= {part["strength"] for part in result["parts"]}
    strengths |= {part.strength for part in entry.parts}
    assert not strengths & {*EARNED, "proved"}
    for word in EARNED:
        assert f" {word} " not in said + shown
    if result["verdict"] == "holds":
        for text in (said, shown):
            assert f"no section headed `{id}`" in " ".join(text.split())


@pytest.fixture
def run_linrep(tmp_path, monkeypatch):
    """Run commands in a folder of its own; what its claims take the place of is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(claim, "_CLAIMS", dict(claim._CLAIMS))
    return lambda *words: CliRunner().invoke(main, words, catch_exceptions=False).output


def test_what_a_section_derives_is_derived_and_its_digest_is_kept(tmp_path, run_linrep):
    Path(tmp_path, "own.py").write_text(HEAD + FALSE["mine.bold"] + FALSE["mine.rare"])
    Path(tmp_path, "proofs.md").write_text(
        "# Mine\n\n### `mine.bold`: by a square\n\nx(1 - x) is 1/4 - (x - 1/2)^2.\n\n"
        "### `mine.rare`: never\n\nIt is so.\n"
    )
    run_linrep("verify", "own.py", "--json", "own.json", "--ledger", "book.json", "--record")
    bold, rare = json.loads(Path(tmp_path, "own.json").read_text())
    assert (bold["strength"], bold["derivation"]) == (DERIVED, prose.digest("mine.bold", tmp_path))
    assert (rare["strength"], rare["missing"]) == (
        "statistical", "its check says proved, and samples are statistical; it is statistical"
    )  # fmt: skip
    book = tmp_path / "book.json"
    assert ledger.recorded(book)["mine.bold"].strength == DERIVED
    page = Path(tmp_path, "proofs.md").read_text()
    Path(tmp_path, "proofs.md").write_text(
        page.replace("by a square\n\nx", "by a square\n\nAlso x")
    )
    edited = ledger.recorded(book)["mine.bold"]
    assert edited.strength == "searched"
    assert "changed since it was verified" in edited.missing
    Path(tmp_path, "proofs.md").write_text("### `mine.bold`: by nothing\n")
    assert ledger.recorded(book)["mine.bold"].strength == "searched"
    Path(tmp_path, "proofs.md").unlink()
    assert "no section" in ledger.recorded(book)["mine.bold"].missing


def entry_of(**changes):
    values = ledger.recorded()["flute.eq28.corrected"].as_json() | changes
    return Record.from_json(values)


def test_a_stored_proved_is_a_claim_until_its_ground_is_found(tmp_path):
    """As a plug-in's ledger has it that was written before, or by hand."""
    values = judge([Condition(True, strength=PROVED)]).parts[0].as_json()
    for word in (PROVED, *EARNED):
        read = entry_of(id="toy.bold", strength=word, parts=[values | {"strength": word}])
        for folder in (None, tmp_path):
            found = ledger.earned(read, folder)
            assert (found.strength, found.parts[0].strength) == ("searched", "searched")
            assert "no section headed `toy.bold`" in found.missing


ONE = lines("mine.one", Region(x=(0, 1)))(lambda x: {"one": at_most(x, 2)})


@pytest.mark.parametrize(
    ("changes", "strength"),
    [
        ({}, CERTIFIED),
        ({"answers": {"z3 4": "unsat", "cvc5 1": "unknown"}}, CERTIFIED),
        ({"answers": {"z3 4": "unknown"}}, "searched"),
        ({"answers": {"z3 4": "unsat", "cvc5 1": "sat"}}, "searched"),
        ({"possible": False}, "searched"),
        ({"family": True}, "searched"),
        ({"whole": False}, "searched"),  # a line of the proof, and no more
    ],
)
def test_answers_certify_where_they_prove_lines_of_something(changes, strength):
    line = {"sha256": "", "whole": True, "possible": True, "answers": {"z3 4": "unsat"}, **changes}
    found = judge([replace(ONE.measure(), strength="")])
    record = Record(
        verdict="holds",
        sentence="so",
        id="mine.lines",
        budget="quick",
        parts=found.parts,
        lines={"one": line},
    )
    found = ledger.earned(record, None)
    assert found.strength == strength
    whole = line["whole"]
    assert bool(record.proved_by) == (strength == CERTIFIED or not whole)
    assert found.parts[0].strength == (CERTIFIED if not whole else strength)


def test_an_answer_to_another_question_is_dropped():
    known, item = ledger.known(["flute"]), claim.claims(["flute"])["flute.eq28.corrected"]
    assert known[item.id].strength == CERTIFIED
    lines = {name: {**line, "sha256": "other"} for name, line in known[item.id].lines.items()}
    assert ledger.lines_now(item.id, known[item.id]) == known[item.id].lines
    asked = ledger.lines_now(item.id, replace(known[item.id], lines=lines))
    assert not any("answers" in line for line in asked.values())


def test_a_check_cannot_say_what_intervals_find():
    with complaint(TypeError, "exact"):
        Condition(True, strength=PROVED, exact=True)


def test_every_strength_of_the_ledger_is_found_again():
    entries = ledger.recorded()
    assert [name for name, entry in entries.items() if entry.missing] == []
    for name, entry in entries.items():
        if entry.strength == DERIVED:
            assert prose.derivation(name, papers()[entry.paper].folder), name
        if entry.strength == EXACT:
            assert any(part.ground for part in entry.parts if part.strength == EXACT), name


def test_samples_are_never_more_than_statistical():
    for said in ("", PROVED, "enumerated exactly"):
        assert judge([Frequency(100, 1000, 0.9, strength=said)]).strength == "statistical"
