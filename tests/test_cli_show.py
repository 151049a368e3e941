"""linrep show: claims, figures, algorithms and run directories."""

import pytest
from click.testing import CliRunner

from linrep.cli import main


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
        "  statement  W^*",
        "  verdict    fails · proved · measured 2 · claimed 0.04 · 2 of 3 parts fail",
        "  severity   constant",
        "  why        ",
        "  reason     ",
        "  corrected  fedrep.A1_W.corrected: Multiplied by sqrt(n)",
        "  check it   linrep verify fedrep.A1_W --budget standard --seed 0",
        "measurement ",
        "facts were measured beside it",
    ):
        assert line in found
    assert "1/(4 sigma_max^2) at n = 100" in call("show", "fedrep.A1_W", "--verbose")


def test_patterns_and_several():
    found = call("show", "pflmf.step-A*", "fedrep.A1_W")
    assert found.count("  verdict    ") >= 3
    assert found.count("\n\n") >= 2


def test_a_figure_has_its_sizes_and_a_command():
    found = call("show", "fedrep.figure3")
    assert "linrep figures fedrep.figure3 --quick" in found
    assert "--participation" in found


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
