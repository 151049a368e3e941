"""The commands that look at stored sweeps: summary and plot."""

import pandas as pd
import pytest
from click.testing import CliRunner

from linrep.cli import main
from linrep.sweeps import Grid, Sweep, run, summarize


def noisy(cell, rng):
    return {"error": float(rng.exponential()) / cell["m"] / cell["n"]}


def traced(cell, rng):
    return [{"round": t, "error": float(rng.exponential()) * 0.5**t} for t in range(4)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    grid = Grid.product({"n": [1, 2, 4], "m": [1, 2, 4, 8, 16], "d": 3})
    run(Sweep(noisy, grid, 20), folder / "noisy")
    run(Sweep(traced, Grid.product({"n": [1, 2]}), 5), folder / "traced")
    return folder


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_summary_groups_by_what_varies_and_writes_csv(stored, tmp_path):
    result = call("summary", stored / "noisy", "error", "--csv", tmp_path / "a.csv")
    assert result.exit_code == 0, result.output
    table = pd.read_csv(tmp_path / "a.csv")
    assert list(table[["n", "m"]].drop_duplicates().itertuples(index=False, name=None)) == [
        (n, m) for n in (1, 2, 4) for m in (1, 2, 4, 8, 16)
    ]
    rows = pd.read_parquet(stored / "noisy" / "parts")
    expected = summarize(rows, "error", ["n", "m"])
    pd.testing.assert_frame_equal(table, expected, check_exact=False)


def test_summary_of_a_condition_gives_shares(stored):
    result = call("summary", stored / "noisy", "error < 0.1", "--by", "m")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    shares = [float(line[4]) for line in lines if len(line) == 7 and line[0].isdigit()]
    assert len(shares) == 5
    assert "taken together over n" in result.output
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1


def test_summary_finds_thresholds_and_their_exponents(stored):
    result = call(
        "summary", stored / "noisy", "error < 0.1", "--threshold", "m", "--exponents", "n"
    )
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split() == ["n", "estimate", "low", "high"]
    thresholds = [float(line.split()[1]) for line in lines[1:4]]
    assert thresholds == sorted(thresholds, reverse=True)
    assert "n^-" in lines[4]


@pytest.mark.parametrize(
    "options",
    [
        ("noisy", "error", "--x", "m", "--by", "n", "--log", "xy"),
        ("noisy", "error", "--x", "m", "--by", "n", "--statistic", "median"),
        ("noisy", "error < 0.1", "--x", "n", "--y", "m", "--boundary", "8 / n"),
        ("traced", "error", "--x", "round", "--by", "n", "--log", "y"),
    ],
)
def test_plot_draws_a_picture(stored, tmp_path, options):
    name, *others = options
    out = tmp_path / "a.png"
    result = call("plot", stored / name, *others, "--out", out)
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(b"\x89PNG")


def test_where_nothing_succeeded_nothing_is_drawn(tmp_path):
    grid = Grid.product({"n": [1, 2], "m": [1, 2]})
    run(Sweep(lambda cell, rng: 1 // 0, grid, 2, name="fails"), tmp_path / "run")
    result = call("plot", tmp_path / "run", "seconds", "--x", "n")
    assert result.exit_code == 2
    assert "no replicate of" in result.output
    assert not (tmp_path / "run.png").exists()


def test_plot_says_what_it_leaves_out(stored, tmp_path):
    result = call("plot", stored / "noisy", "error", "--x", "m", "--out", tmp_path / "a.png")
    assert result.exit_code == 0, result.output
    assert "only n = 1 is shown" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("summary", "{}/nothing", "error"), "not a run directory"),
        (("summary", "{}/noisy", "eror"), "cannot evaluate 'eror'"),
        (("summary", "{}/noisy", "error", "--by", "q"), "no column 'q'"),
        (("summary", "{}/noisy", "error", "--threshold", "m"), "true or false"),
        (("summary", "{}/noisy", "error", "--exponents", "q"), "no column 'q'"),
        (("plot", "{}/noisy", "error", "--x", "q"), "column 'q'"),
        (("plot", "{}/noisy", "error", "--x", "m", "--log", "z"), "--log"),
        (("plot", "{}/noisy", "error", "--x", "m", "--boundary", "m"), "--boundary"),
        (("plot", "{}/noisy", "error", "--x", "m", "--y", "n", "--boundary", "q"), "'q'"),
        (("plot", "{}/noisy", "error", "--x", "m", "--out", "{}/no/such/a.png"), "No such file"),
    ],
)
def test_bad_input_gets_one_line_and_status_2(stored, arguments, words):
    result = call(*(argument.format(stored) for argument in arguments))
    assert result.exit_code == 2, result.output
    errors = [line for line in result.output.splitlines() if line.startswith("Error")]
    assert len(errors) == 1
    assert "Traceback" not in result.output
    assert words in errors[0]
