"""Steps of derivations that solvers decide: what is asked, what is stored, what is answered."""

import inspect
import shutil
from fractions import Fraction

import numpy as np
import pytest

from linrep._lib.papers import Paper, paper_of, papers
from linrep.claims import claims, ledger
from linrep.claims.certificates import POSSIBLE, certificates, digest, register, select
from linrep.claims.pages import pages
from linrep.claims.record import PROVED, REFUTED
from linrep.claims.solvers import SOLVERS, UNKNOWN, ask
from tests.tools import complaint, sampled

#: Answers are quick: .2 s at most where a solver finds one at all.
SECONDS = 10.0


def test_the_ledgers_have_the_questions_and_their_answers():
    wrong, known = [], ledger.known()
    for name, item in certificates().items():
        line = known[item.claim].lines.get(item.step, {"sha256": ""})
        given = {who.partition(" ")[0]: said for who, said in line.get("answers", {}).items()}
        if line["sha256"] != digest(item.smtlib()):
            wrong.append(f"{name}: another question is recorded; linrep certify --record")
        elif PROVED not in given.values() or REFUTED in given.values() or set(given) != {*SOLVERS}:
            wrong.append(f"{name}: {given}")
        elif not line.get("possible"):
            wrong.append(f"{name}: what is given is not shown to be possible")
        elif line.get("family", False) != item.family:
            wrong.append(f"{name}: whether it is of a family of examples")
    assert not wrong
    there = {f"{id}.{name}" for id, each in known.items() for name in each.lines}
    assert there == set(certificates())


def test_their_constants_are_those_of_claims():
    known, wrong = claims(), []
    for name, item in certificates().items():
        claim = known[item.claim]
        defaults = inspect.signature(claim.check).parameters
        for constant, value in item.constants.items():
            there = claim.constants.get(constant, defaults[constant].default)
            if float(value) != float(there):
                wrong.append(f"{name}: {constant} = {value}, the claim has {there}")
    assert not wrong


@pytest.mark.parametrize("draws", sampled([200, 2000], 1))
def test_they_hold_at_fractions_wherever_what_is_given_does(draws):
    """By exact arithmetic, without a solver; roots of 2 are left to these."""
    rng, seen = np.random.default_rng(0), 0
    for name, item in certificates().items():
        if "root2" in item.variables:
            continue
        found = 0
        for _ in range(draws):
            sizes = 10.0 ** rng.uniform(-4.0, 1.0, len(item.variables))
            values = [Fraction(float(f"{size:.2g}")).limit_denominator(10**6) for size in sizes]
            try:
                holds = item.holds(*values)
            except ZeroDivisionError:
                continue
            assert holds is not False, (name, values)
            found += holds is True
        seen += found > 0
    assert seen > 0.7 * len(certificates())


@pytest.mark.parametrize("share", sampled([6, 1], 1))
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_proves_what_is_recorded_of_it(solver, share):
    """Of every sixth step in the quick pass; `linrep certify` asks of all."""
    wrong = []
    for name, item in list(certificates().items())[::share]:
        answers = ledger.known([paper_of(name)])[item.claim].lines[item.step]["answers"]
        recorded = next(said for who, said in answers.items() if who.startswith(f"{solver} "))
        if recorded == PROVED and ask(solver, item.smtlib(), SECONDS) != PROVED:
            wrong.append(name)
    assert not wrong


@pytest.mark.slow
def test_what_is_given_is_possible():
    wrong = [
        name
        for name, item in certificates().items()
        if not any(ask(solver, item.hypotheses(), SECONDS) == POSSIBLE for solver in SOLVERS)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("fedrep.eq85.corrected.conclusion", {"divisor": 5}),
        ("fedrep.lemma2.eq31.corrected.(31)", {"coefficient": 11}),
        ("fedrep.lemma6.samples.delta_k + delta'_k", {"factor": Fraction(19, 10)}),
        ("flute.eq19.end_of_proof", {"loss": Fraction(50, 288)}),
        ("flute.eq19.display.corrected.last line implies (19)", {"tail": Fraction(1, 8)}),
        ("flute.eq28.corrected.(28)", {"divisor": 6}),
        ("flute.propositionA9.leading rows", {"room": Fraction(1, 8)}),
        ("pflmf.eq16.auxiliary.first <= second", {"factor": 3}),
        ("pflmf.lemma4.one coordinate", {"factor": Fraction(99, 100)}),
        ("pflmf.theorem1.corrected.exact_family", {"p_power": Fraction(19, 10)}),
    ],
)
def test_a_false_version_is_refuted(name, constants):
    question = certificates()[name].smtlib(**constants)
    assert {ask(solver, question, SECONDS) for solver in SOLVERS} - {UNKNOWN} == {REFUTED}


def test_a_solver_that_takes_too_long_is_ended():
    x = certificates()["flute.propositionA9.leading rows"]
    assert ask("cvc5", x.smtlib(), 0.2) == UNKNOWN


def test_names_and_constants_that_there_are_not_are_named():
    with complaint(ValueError, "loss", "rate"):
        certificates()["flute.eq19.end_of_proof"].smtlib(rate=1)
    again = certificates()["flute.eq28.corrected.(29)"]
    with complaint(ValueError, "twice"):
        register(again)
    assert {item.claim for item in select(["pflmf.*"]).values()} < set(claims(["pflmf"]))


def test_a_claim_is_checked_by_those_who_prove_its_lines():
    known = ledger.known()
    found = known["flute.eq28.corrected"].proved_by
    assert found["z3"] == found["cvc5"] == list(known["flute.eq28.corrected"].lines)
    assert known["flute.eq3"].proved_by == {}
    assert known["fedrep.theorem1"].proved_by == {}  # a family of examples, no line of its proof


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """Return FLUTE as a paper whose ledger is in another folder."""
    home = tmp_path / "flute"
    shutil.copytree(papers()["flute"].folder, home, ignore=shutil.ignore_patterns("__pycache__"))
    paper = Paper("flute", "linrep.papers.flute", home)
    monkeypatch.setattr("linrep._lib.papers._found", lambda: ({"flute": paper}, {}))
    return paper


def test_what_was_decided_before_stays(paper):
    id, name = "flute.eq28.corrected", next(iter(ledger.known()["flute.eq28.corrected"].lines))
    before, pictures = ledger.known(), paper.ledger.with_suffix(".parquet").read_bytes()

    def record(z3, cvc5, possible):
        said = {id: {name: {"z3": z3, "cvc5": cvc5}}}
        ledger.record_answers(said, {id: {name: possible}}, {"z3": "1", "cvc5": "2"})
        return ledger.known()[id].lines[name]

    assert record(PROVED, UNKNOWN, False)["answers"]["z3 1"] == PROVED
    line = record(UNKNOWN, PROVED, False)
    assert line["answers"] == {"z3 1": PROVED, "cvc5 2": PROVED}
    assert line["possible"]
    assert record(REFUTED, PROVED, True)["answers"]["z3 1"] == REFUTED
    assert name not in ledger.known()[id].proved_by.get("cvc5", [])
    # Nothing else has changed.
    after = ledger.known()
    assert {key for key in after if after[key] != before[key]} == {id}
    assert paper.ledger.with_suffix(".parquet").read_bytes() == pictures


def test_the_ledger_says_who_checks():
    entries = ledger.recorded()
    names = ["flute.eq28.corrected", "flute.eq3", "flute.eq28"]
    page = pages({name: entries[name] for name in names})["ledger/flute.md"]
    lines = {name: line for name in names for line in page.splitlines() if f"[`{name}`]" in line}
    assert "| certified | derivation, z3 (4), cvc5 (4)" in lines["flute.eq28.corrected"]
    assert "| derived | derivation |" in lines["flute.eq3"]
    assert "derivation" not in lines["flute.eq28"]
