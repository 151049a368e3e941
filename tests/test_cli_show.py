"""linrep show: claims, figures, algorithms and run directories."""

from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import linrep as lr
from linrep.claims import ledger
from linrep.cli import main
from linrep.reproduction import read_record

FIGURES = Path(__file__).parents[1] / "figures"


def call(*arguments, code=0):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


def sweep(n):
    sizes = ("--n", n, "--d", 4, "--k", 2, "--m", 5, "--rounds", 2)
    call("sweep", "fedrep", *sizes, "--replicates", 2, "--workers", 1)


def test_a_claim_has_all_that_is_recorded():
    found = call("show", "fedrep.A1_W")
    for line in (
        "fedrep.A1_W: The heads",
        "  place      Appendix A.1",
        "  statement  W*",
        "  verdict    fails · proved · measured 2 · claimed 0.04 · 2 of 3 parts fail",
        "  severity   constant",
        "  why        ",
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
    at = entry["counterexample"]
    ratio = f"{entry['measured']:.4g} times the right side (p = {at['p']}, T = {at['T']})"
    assert ratio in found
    assert f"(ledger, {entry['budget']} budget)" in found
    assert ratio in " ".join(str(lr.statements["pflmf.theorem1"]).split())


def test_constants_are_a_table():
    rows = [line.split() for line in call("show", "pflmf.corollary2.constants").splitlines()]
    facts = ledger.recorded()["pflmf.corollary2.constants"]["facts"]
    at = [f"{fact['value']:.4g}" for fact in facts if fact["name"].endswith("p = 0.1")]
    assert len(at) == 6
    assert ["0.1", *at] in rows
    # Each number with the T that it is at, and with what computed it.
    T = [float(value) for value in (at[0], at[3])]
    assert pytest.approx([1e8 / 0.1**2, 1e8 / 0.1**4]) == T
    assert "(ledger, standard budget)" in call("show", "pflmf.corollary2.constants")
    assert "linrep show pflmf.corollary2.constants" in call("constants", "pflmf")


def test_sizes_of_a_violation_come_with_their_settings():
    """12.47 at T = 200 is the ledger's, 626 the figure's, and 25 what the former tends to."""
    found = " ".join(call("show", "pflmf.theorem1").split())
    entry = ledger.recorded()["pflmf.theorem1"]
    at = entry["counterexample"]
    assert f"p = {at['p']} the left side of Theorem 1 is {entry['measured']:.2f} times" in found
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


@pytest.mark.parametrize("name", ["perfedsi", "altgdmin", "nuclear_norm"])
def test_the_command_of_an_algorithm_is_one(name):
    found = call("show", name)
    (line,) = (line for line in found.splitlines() if line.startswith("  sweep it"))
    words = line.split()[2:]
    done = call(*words[1:], "--dry-run", "--workers", "1")
    assert "a replicate failed" not in done


def test_a_run_directory_says_what_it_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call(
        *[
            "sweep",
            "fedrep",
            "--n",
            "5,6",
            "--d",
            "4",
            "--k",
            "2",
            "--m",
            "5",
            "--rounds",
            "2",
            "--replicates",
            "2",
        ]
    )
    found = call("show", "runs/fedrep")
    assert "runs/fedrep: 2 cells, 4 of 4 replicates" in found
    assert "  n          5, 6" in found
    assert "linrep summary runs/fedrep distance" in found
    (part, *_) = (tmp_path / "runs" / "fedrep" / "parts").glob("*.parquet")
    part.unlink()
    assert "  incomplete " in call("show", "runs/fedrep")


def test_what_is_the_name_of_nothing_gets_proposals_of_all_kinds():
    assert "did you mean fedrep.figure3" in call("show", "fedrep.figur3", code=2)
    assert "did you mean altgdmin?" in call("show", "altgdmn", code=2)
    assert "linrep runs list them" in call("show", "xyzzy", code=2)


def test_the_users_runs_come_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call(
        *[
            "sweep",
            "fedrep",
            "--n",
            "5",
            "--d",
            "4",
            "--k",
            "2",
            "--m",
            "5",
            "--rounds",
            "2",
            "--replicates",
            "2",
        ]
    )
    call("verify", "fedrep.A1_W", "--workers", 1)
    found = call("runs")
    assert "runs/fedrep" in found
    assert "runs/verify" not in found
    assert "more, of claims and figures: 1; linrep runs --all lists them" in found
    every = [line.split()[0] for line in call("runs", "--all").splitlines()]
    assert every[:2] == ["run", "runs/fedrep"]
    assert every[2].startswith("runs/verify/")
    assert "runs/verify" in call("runs", "runs/verify")
