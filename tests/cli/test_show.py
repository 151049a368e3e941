"""linrep show: claims, figures, algorithms and run directories."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import linrep as lr
from linrep._lib.display import number
from linrep._lib.scripts import available
from linrep.claims import claims, ledger
from linrep.cli import main
from linrep.figures.reproduction import read_record
from tests.tools import rewrite

SWEEP = (
    "sweep", "fedrep", "--n", "5,6", "--d", "4", "--k", "2", "--m", "5", "--rounds", "2",
    "--replicates", "2",
)  # fmt: skip
FIGURES = Path(__file__).parents[2] / "figures"


def call(*arguments, code=0):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    """Go where nothing has been checked."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_claim_has_all_that_is_recorded():
    found = call("show", "fedrep.A1_W")
    for line in (
        "fedrep.A1_W: The heads",
        "  place      Appendix A.1",
        "  statement  W*",
        "  verdict    fails · exact · measured 2 · claimed 0.04 · 2 of 3 parts fail",
        "  why        the appendix's heads do not satisfy Assumption 3 (severity: constant)",
        "  reason     ",
        "  corrected  fedrep.A1_W.corrected: Multiplied by sqrt(n)",
        "  check it   linrep verify fedrep.A1_W --budget standard --seed 0",
        "measurement ",
        "measured beside it: -v prints",
    ):
        assert line in found
    assert "1/(4 sigma_max^2) at n = 100" in call("show", "fedrep.A1_W", "--verbose")


def test_formulas_are_plain_text_and_lines_fit(monkeypatch):
    monkeypatch.setenv("COLUMNS", "64")
    found = call("show", "pflmf.theorem1")
    assert "η_v = pη/K, η < 1/(2L)" in found
    assert "\\" not in found
    lines = found.partition("\nmeasurement")[0].splitlines()
    assert max(map(len, lines)) <= 64
    assert all(len(line) > 20 for line in lines[:4])
    assert r"\frac1T" in call("show", "pflmf.theorem1", "--verbose")
    printed = str(lr.statements["pflmf.theorem1"]).splitlines()
    assert max(map(len, printed)) <= 64
    assert "\\" not in "".join(printed)


def test_a_shortfall_is_a_ratio_with_its_setting_and_budget():
    entry = ledger.recorded()["pflmf.theorem1"]
    found = " ".join(call("show", "pflmf.theorem1").split())
    at = entry.counterexample
    least = number(entry.measured, -1)
    ratio = f"at least {least} times the right side (p = {at['p']}, T = {at['T']})"
    assert ratio in found
    assert f"({entry.budget} budget)" in found
    assert ratio in " ".join(str(lr.statements["pflmf.theorem1"]).split())


def test_constants_are_a_table():
    rows = [line.split() for line in call("show", "pflmf.corollary2.constants").splitlines()]
    facts = ledger.recorded()["pflmf.corollary2.constants"].facts
    at = [f"{fact.value:.4g}" for fact in facts if fact.setting == {"p": 0.1}]
    assert len(at) == 6
    assert ["0.1", *at] in rows
    # Each number with the T that it is at, and with what computed it.
    T = [float(value) for value in (at[0], at[3])]
    assert pytest.approx([1e8 / 0.1**2, 1e8 / 0.1**4]) == T


def test_constants_of_bounds_are_those_of_finished_checks(tmp_path):
    store = ("--store", str(tmp_path))
    named = "linrep show pflmf.corollary2.constants"
    assert named in call("show", "pflmf", "--constants", *store)
    call("verify", "fedrep.lemma2", "--workers", "1", *store)
    found = call("show", "fedrep", "--constants", *store).splitlines()
    assert {line.split()[0] for line in found[1:]} == {"fedrep.lemma2"}
    assert all(0.0 < float(line.split()[-2]) <= float(line.split()[-1]) for line in found[1:])


def test_sizes_of_a_violation_come_with_their_settings():
    """At least 12.46 at T = 200 is the ledger's, 626 the figure's, 25 what the former tends to."""
    found = " ".join(call("show", "pflmf.theorem1").split())
    entry = ledger.recorded()["pflmf.theorem1"]
    at = entry.counterexample
    assert f"the left side of Theorem 1 is at least {number(entry.measured, -1)} times" in found
    assert f"at T = {at['T']} " in found
    p, eta_L = Fraction(at["p"]), Fraction(at["eta"]) * Fraction(at["L"])
    limit = (1 - 2 * eta_L) / (p**2 * (2 - p * eta_L))
    assert f"about {float(limit):.0f} times as T grows" in found
    manifest, _ = read_record(FIGURES, "pflmf.stationarity")
    (largest,) = (
        line["value"]["value"]
        for line in manifest["result"]["summary"]["lines"]
        if (line["K"], line["p"], line["what"]) == (1, 0.02, "measure over Theorem 1's bound")
    )
    (last,) = {cell["T"] for cell in manifest["result"]["settings"]["cells"]}
    assert f"at p = 0.02 and T = {last} it is {largest:.0f} times" in found


def test_patterns_and_several():
    found = call("show", "pflmf.step-A*", "fedrep.A1_W")
    assert found.count("  verdict    ") >= 3
    assert found.count("\n\n") >= 2


def test_a_figure_has_its_sizes_and_a_command():
    found = call("show", "fedrep.figure3")
    assert "linrep figures fedrep.figure3 --quick" in found
    assert "--participation" in found


def test_an_algorithm_is_described_without_markup():
    found = call("show", "pflmf")
    assert ":math:" not in found
    assert "\\" not in found
    assert "F(UVᵀ)" in found


def test_what_is_a_claim_and_a_figure_is_shown_as_both():
    both = sorted(set(claims()) & set(available()))
    assert len(both) >= 8
    recorded = ledger.recorded()
    found = call("show", *both)
    for name in both:
        claim, item = claims()[name], lr.statements[name]
        at = found.index(f"  verdict    {recorded[name].verdict}", found.index(claim.place))
        if item.finding:
            at = found.index(f"(severity: {item.finding.severity})", at)
        at = found.index(f"linrep verify {name} --budget", at)
        assert found.index(f"linrep figures {name} --quick", at) > at
    with_pattern = call("show", "flute.figure1*")
    assert "  verdict    fails" in with_pattern
    assert "linrep figures flute.figure1 --quick" in with_pattern


def test_a_failure_by_a_hair_comes_with_the_largest():
    """What is proved decides, though it be by a part in 10^20, and what is searched has a size."""
    tiny = {
        name: [part for part in entry.parts if part.verdict == "fails" and part.tightness > 0.0]
        for name, entry in ledger.recorded().items()
        if entry.verdict == "fails" and 0.0 < entry.tightness < 1.001
    }
    tiny = {
        name: parts for name, parts in tiny.items() if any(part.tightness > 1.01 for part in parts)
    }
    assert tiny
    for name, parts in tiny.items():
        most = max(parts, key=lambda part: part.tightness)
        for text in (call("show", name), str(lr.statements[name])):
            assert f"{most.name}: {most.sentence}" in " ".join(text.split())


def outcome(name, *options):
    """Return what show says of a claim's verdict, and where that is from."""
    lines = call("show", "my_claims.py", *options).splitlines()
    named = {line[2:12].strip(): line[13:] for line in lines if line.startswith("  ")}
    return named["verdict"].split(" ")[0], named


def test_show_and_report_say_what_verify_found(empty):
    """Of the same file, before it is edited and after."""
    call("new", "claim")
    file = empty / "my_claims.py"

    def page():
        said = call("report", file.name)
        return said, (empty / "report.html").read_text("utf-8")

    assert outcome("mine.means")[0] == "unchecked"
    assert "There is no result yet" in page()[1]
    call("verify", file.name, "--workers", 1, "--json", "found.json")
    (result,) = json.loads((empty / "found.json").read_text())
    verdict, named = outcome("mine.means")
    assert verdict == result["verdict"] == "holds"
    assert named["measured"] == f"{result['sentence']} (quick budget)"
    assert named["source"] == "finished check in runs/verify"
    assert named["check it"].endswith("--budget quick --seed 0")
    assert "quick run · seed 0" in page()[1]
    assert "mine.means  holds" in call("verify", file.name, "--list")
    assert outcome("mine.means", "--budget", "thorough")[0] == "unchecked"
    assert outcome("mine.means", "--seed", 1)[0] == "unchecked"

    file.write_text(file.read_text() + "\n# edited\n")
    verdict, named = outcome("mine.means")
    said, html = page()
    assert verdict == "unchecked"
    old = "checked in runs/verify before code was edited; linrep verify checks again"
    assert named["store"] == old
    assert f"mine.means: {old}" in said
    assert "The stored result is of code that was edited since" in html
    assert "mine.means  -" in call("verify", file.name, "--list")
    call("verify", file.name, "--workers", 1)
    verdict, named = outcome("mine.means")
    assert (verdict, "store" in named) == ("holds", False)
    assert "edited" not in page()[0]


def test_a_ledger_stands_beside_a_stored_run(empty):
    call("new", "claim")
    common = ("my_claims.py", "--ledger", "mine.json")
    call("verify", *common, "--workers", 1, "--record")
    other = {"verdict": "fails", "budget": "standard"}
    rewrite(empty / "mine.json", lambda entries: entries[0].update(other))
    (empty / "runs").rename("elsewhere")
    verdict, named = outcome("mine.means", *common[1:])
    assert verdict == "fails"
    assert named["measured"].endswith("(standard budget)")
    assert named["source"] == "ledger"
    store = ("--store", "elsewhere/verify")
    verdict, named = outcome("mine.means", *common[1:], *store)
    assert verdict == "holds"
    assert named["ledger"].startswith("fails · ")
    assert named["source"] == "finished check in elsewhere/verify"


@pytest.mark.parametrize("name", ["perfedsi", "altgdmin", "nuclear_norm"])
def test_the_command_of_an_algorithm_is_one(name):
    found = call("show", name)
    (line,) = (line for line in found.splitlines() if line.startswith("  sweep it"))
    words = line.split()[2:]
    done = call(*words[1:], "--dry-run", "--workers", "1")
    assert "a replicate failed" not in done


def test_the_users_runs_come_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call(*SWEEP)
    call("verify", "fedrep.A1_W", "--workers", 1)
    head, mine, others = call("summary").splitlines()
    assert (head.split()[0], mine.split()[0]) == ("run", "runs/fedrep")
    assert others == "1 of claims and figures are in runs/verify"
    assert call("summary", "runs/verify").splitlines()[1].startswith("runs/verify/")
    _, line, *contents = call("summary", "runs/fedrep").splitlines()
    assert line.split() == ["runs/fedrep", "2", "4", "0", "0"]
    assert "  n: 5, 6" in contents
    assert "distance" in contents[-1]
