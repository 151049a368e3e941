"""What long commands show: a line before the imports, a bar, and rows as they come."""

import pytest

from linrep._lib import progress
from linrep.claims import certificates, claim, mutants, solvers
from linrep.claims.record import PROVED
from linrep.cli import main


@pytest.fixture
def watched(monkeypatch, capsys):
    """Return a function that runs a command, and one that keeps what is shown when it is called."""
    monkeypatch.setattr(progress, "in_notebook", lambda: True)  # where bars are shown, as here
    shown = []

    def look(*arguments, **named):
        shown.append("".join(capsys.readouterr()))

    def run(line):
        with pytest.raises(SystemExit):
            main(line.split(), prog_name="linrep")
        look()
        return shown

    return run, look


def test_certify_shows_a_bar_from_the_first_question_and_each_answer_as_it_comes(
    watched, monkeypatch
):
    run, look = watched
    monkeypatch.setattr(solvers, "versions", lambda: {"z3": "0"})
    monkeypatch.setattr(solvers, "ask", lambda *question: look() or PROVED)
    names = list(certificates.select(["pflmf.*"]))
    first, second, third, *_ = run("certify pflmf.*")
    assert f"0/{len(names)} questions" in first
    assert names[0] not in first + second  # two questions each: whether it follows, and is possible
    assert names[0] in third
    assert f"1/{len(names)} questions" in third
    assert "<" in third.rpartition("[")[2]  # the time left


def test_sensitivity_shows_a_bar_by_versions_and_the_constants_of_each_claim_as_it_comes(
    watched, monkeypatch
):
    run, look = watched
    monkeypatch.setattr(mutants, "try_mutant", lambda *version: look() or "refuted")
    shown = run("verify --sensitivity fedrep.lemma3 pflmf.lemma3")
    assert "loading the checks" in shown[0]
    assert "0/" in shown[0]
    assert "versions" in shown[0]
    rows = ["fedrep.lemma3  " in each for each in shown]
    assert any(rows[1:-1])
    assert not rows[0]


@pytest.mark.parametrize("command", ["verify", "report", "verify --sensitivity"])
def test_a_line_is_there_before_what_takes_seconds_is_loaded(watched, monkeypatch, command):
    run, look = watched

    def slow(papers=()):
        look()
        raise ValueError("enough")

    monkeypatch.setattr(claim, "claims", slow)
    assert "loading the checks" in run(f"{command} fedrep.lemma3")[0]
