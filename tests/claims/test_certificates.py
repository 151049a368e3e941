"""Steps of derivations that solvers decide: what is asked, what is stored, what is answered."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

from linrep._lib.papers import Paper, paper_of
from linrep.claims import claims, ledger
from linrep.claims.certificates import (
    POSSIBLE,
    PROVED,
    REFUTED,
    answers,
    certificate,
    certificates,
    checked_by,
    digest,
    record,
    select,
)
from linrep.claims.solvers import SOLVERS, UNKNOWN, ask
from linrep.claims.stated import FILE, Stated, listing
from tests.tools import complaint, sampled

#: Answers are quick: .2 s at most where a solver finds one at all.
SECONDS = 10.0


def test_the_files_have_the_questions_and_their_answers():
    wrong = []
    for name, item in certificates().items():
        said = answers(paper_of(name)).get(name, {"sha256": "", "solvers": {}})
        given = [entry["answer"] for entry in said["solvers"].values()]
        if not item.is_stored() or said["sha256"] != digest(item.smtlib()):
            wrong.append(f"{name}: another question is stored; linrep certify --record")
        elif PROVED not in given or REFUTED in given or set(said["solvers"]) != set(SOLVERS):
            wrong.append(f"{name}: {given}")
        elif said["hypotheses"] != POSSIBLE:
            wrong.append(f"{name}: what is given is not shown to be possible")
    assert not wrong
    folders = {item.path.parent for item in certificates().values()}
    there = {path.stem for folder in folders for path in folder.glob("*.smt2")}
    assert there == {item.path.stem for item in certificates().values()}


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
        recorded = answers(paper_of(name))[name]["solvers"][solver]["answer"]
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
        ("fedrep.eq85.corrected.right_half", {"divisor": 5}),
        ("fedrep.lemma2.eq31.corrected.display31", {"coefficient": 11}),
        ("fedrep.lemma6.samples.roots", {"factor": Fraction(19, 10)}),
        ("flute.eq19.end_of_proof", {"loss": Fraction(50, 288)}),
        ("flute.eq19.display.corrected.last_line", {"tail": Fraction(1, 8)}),
        ("flute.eq28.corrected.quotient", {"divisor": 6}),
        ("flute.propositionA9.leading_rows", {"room": Fraction(1, 8)}),
        ("pflmf.eq16.auxiliary.first <= second", {"factor": 3}),
        ("pflmf.lemma4.one coordinate", {"factor": Fraction(99, 100)}),
        ("pflmf.theorem1.corrected.exact_family", {"p_power": Fraction(19, 10)}),
    ],
)
def test_a_false_version_is_refuted(name, constants):
    question = certificates()[name].smtlib(**constants)
    assert {ask(solver, question, SECONDS) for solver in SOLVERS} - {UNKNOWN} == {REFUTED}


def test_a_solver_that_takes_too_long_is_ended():
    x = certificates()["flute.propositionA9.leading_rows"]
    assert ask("cvc5", x.smtlib(), 0.2) == UNKNOWN


def test_names_and_constants_that_there_are_not_are_named():
    with complaint(ValueError, "divisor", "rate"):
        certificates()["flute.eq28.corrected.square"].smtlib(rate=1)
    with complaint(ValueError, "twice"):
        certificate("flute.eq28.corrected", "again")(certificates_named("square"))
    assert {item.claim for item in select(["pflmf.*"]).values()} < set(claims(["pflmf"]))


def certificates_named(name):
    def relation(x):
        return [], x <= 1

    relation.__name__ = name
    return relation


def test_a_claim_is_checked_by_those_who_prove_its_steps():
    steps = checked_by("flute.eq28.corrected")
    assert steps == {"z3": ["quotient", "square"], "cvc5": ["quotient", "square"]}
    assert checked_by("flute.eq3") == {}
    assert checked_by("fedrep.theorem1") == {}  # a family of examples, no step of its proof


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "of another question"},
        {"solvers": {"z3": {"answer": PROVED}, "cvc5": {"answer": REFUTED}}},
        {"hypotheses": "unknown"},
    ],
)
def test_answers_that_are_stale_refuted_or_of_nothing_do_not_count(monkeypatch, change):
    said = {name: {**entry, **change} for name, entry in answers("flute").items()}
    monkeypatch.setattr("linrep.claims.certificates.answers", lambda paper: said)
    assert checked_by("flute.eq28.corrected") == {}


def test_what_was_decided_before_stays(tmp_path, monkeypatch):
    item = certificates()["flute.eq28.corrected.square"]
    paper = Paper("flute", "linrep.papers.flute", tmp_path / "flute", tmp_path / "ledger.json")
    monkeypatch.setattr("linrep._lib.papers._found", lambda: ({"flute": paper}, {}))
    monkeypatch.setattr("linrep.claims.certificates.certificates", lambda _: {item.name: item})
    (tmp_path / "flute").mkdir()
    listed = Stated(item.claim, item.plain, steps={item.step: digest(item.smtlib())})
    (tmp_path / "flute" / FILE).write_text(listing([listed]))
    versions = {"z3": "1", "cvc5": "2"}
    record({item.name: {"z3": PROVED, "cvc5": UNKNOWN}}, {item.name: True}, versions)
    record({item.name: {"z3": UNKNOWN, "cvc5": PROVED}}, {item.name: False}, versions)
    assert checked_by(item.claim) == {"z3": ["square"], "cvc5": ["square"]}
    assert item.is_stored()


def test_the_ledger_says_who_checks():
    known, entries = claims(["flute"]), ledger.recorded()
    names = ["flute.eq28.corrected", "flute.eq3", "flute.eq28"]
    page = ledger.pages({name: known[name] for name in names}, entries)["ledger/flute.md"]
    lines = {name: line for name in names for line in page.splitlines() if f"[`{name}`]" in line}
    assert "| certified | derivation, z3 (2), cvc5 (2)" in lines["flute.eq28.corrected"]
    assert "| derived | derivation |" in lines["flute.eq3"]
    assert "derivation" not in lines["flute.eq28"]
