"""linrep show: claims, figures, algorithms and run directories."""

import json

import pytest

import linrep as lr
from linrep._lib.scripts import available
from linrep.claims import claims, ledger
from tests.cli.support import call
from tests.tools import rewrite

pytestmark = pytest.mark.usefixtures("folder")  # where nothing has been checked

SWEEP = (
    "sweep", "fedrep", "--n", "5,6", "--d", "4", "--k", "2", "--m", "5", "--rounds", "2",
    "--replicates", "2",
)  # fmt: skip


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
    ):
        assert line in found
    assert "1/(4 sigma_max^2) at n = 100" in call("show", "fedrep.A1_W", "--verbose")


def test_readings_are_those_asked_for():
    name, entry = next((name, each) for name, each in ledger.recorded().items() if each.maps)
    part, found = next(iter(entry.maps.items()))
    (axis, values), *_ = found.axes.items()
    asked = [text for value in values[1:] for text in ("--where", f"{axis}={value}")]
    lines = call("show", name, *asked).splitlines()
    holds = found.counts({axis: values[1:]})["holds"]
    assert lines[0].startswith(f"{name} {part}: ")
    assert f": {holds} hold" in lines[0]
    assert len(lines) == 3 + len(found.verdicts) * (len(values) - 1) // len(values)
    for text, said in {
        "here": "--where takes AXIS=VALUE, got 'here'",
        "here=1": f"{name} has no axis 'here', only ",
        f"{axis}=here": f"{name} has no {axis} 'here', only {', '.join(values)}",
    }.items():
        assert said in call("show", name, "--where", text, status=2)
    assert "has no map" in call("show", "fedrep.lemma1", "--where", "a=b", status=2)


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


def test_constants_of_bounds_are_those_of_finished_checks(tmp_path):
    store = ("--store", str(tmp_path))
    named = "linrep show pflmf.corollary2.constants"
    assert named in call("show", "pflmf", "--constants", *store)
    call("verify", "fedrep.lemma2", "--workers", "1", *store)
    found = call("show", "fedrep", "--constants", *store).splitlines()
    assert {line.split()[0] for line in found[1:]} == {"fedrep.lemma2"}
    assert all(0.0 < float(line.split()[-2]) <= float(line.split()[-1]) for line in found[1:])


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
        item = lr.statements[name]
        at = found.index(f"  verdict    {recorded[name].verdict}", found.index(f"{name}: "))
        if item.finding:
            at = found.index("(severity:", at)
            assert found[at:].split()[1] == f"{item.finding.severity})"
        at = found.index(f"linrep verify {name} --budget", at)
        assert found.index(f"linrep figures {name} --quick", at) > at
    with_pattern = call("show", "flute.figure1*")
    assert "  verdict    depends on the reading" in with_pattern
    assert "linrep figures flute.figure1 --quick" in with_pattern


def outcome(name, *options):
    """Return what show says of a claim's verdict, and where that is from."""
    lines = call("show", "my_claims.py", *options).splitlines()
    named = {line[2:12].strip(): line[13:] for line in lines if line.startswith("  ")}
    return named["verdict"].split(" ")[0], named


def test_show_and_report_say_what_verify_found(folder):
    """Of the same file, before it is edited and after."""
    call("new", "claim")
    file = folder / "my_claims.py"

    def page():
        said = call("report", file.name)
        return said, (folder / "report.html").read_text("utf-8")

    assert outcome("mine.means")[0] == "unchecked"
    assert "There is no result yet" in page()[1]
    call("verify", file.name, "--workers", 1, "--json", "found.json")
    (result,) = json.loads((folder / "found.json").read_text())
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


def test_a_ledger_stands_beside_a_stored_run(folder):
    call("new", "claim")
    common = ("my_claims.py", "--ledger", "mine.json")
    call("verify", *common, "--workers", 1, "--record")
    other = {"verdict": "fails", "budget": "standard"}
    rewrite(folder / "mine.json", lambda content: content["claims"][0].update(other))
    (folder / "runs").rename("elsewhere")
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


def test_the_users_runs_come_first():
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
