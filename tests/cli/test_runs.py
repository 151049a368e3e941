"""The commands that look at stored sweeps: summary and plot."""

import pandas as pd
import pytest

from linrep.sweeps import Grid, Sweep, run, summarize
from tests.cli.support import call


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


def test_summary_groups_by_what_varies_and_writes_csv(stored, tmp_path):
    call("summary", stored / "noisy", "error", "--csv", tmp_path / "a.csv")
    table = pd.read_csv(tmp_path / "a.csv")
    assert list(table[["n", "m"]].drop_duplicates().itertuples(index=False, name=None)) == [
        (n, m) for n in (1, 2, 4) for m in (1, 2, 4, 8, 16)
    ]
    expected = summarize(pd.read_parquet(stored / "noisy" / "parts"), "error", ["n", "m"])
    pd.testing.assert_frame_equal(table, expected, check_exact=False)


def test_summary_finds_thresholds_and_their_exponents(stored):
    threshold = ("error < 0.1", "--threshold", "m", "--exponents", "n")
    lines = call("summary", stored / "noisy", *threshold).splitlines()
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
    call("plot", stored / name, *others, "--out", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def draw(monkeypatch):
    """Return a function that returns what a command prints, and the figure that it draws."""

    def draw(*words, status=0):
        figures = []
        monkeypatch.setattr("linrep.cli.runs.write_figure", lambda out, f: figures.append(f))
        output = call("plot", *words, status=status)
        return output, *figures

    return draw


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Two functions over three axes: successes of probabilities that are known."""
    out = tmp_path_factory.mktemp("compared") / "run"
    grid = Grid.product({
        "algorithm": ["one", "two"], "n": [1, 2, 4], "m": [1, 2, 4, 8], "noise": [0.1, 0.2],
    })  # fmt: skip

    def outcome(cell, rng):
        power = {"one": 1.0, "two": 2.0}[cell["algorithm"]]
        return {"risk": cell["m"] ** -power * cell["n"], "done": bool(cell["m"] >= 3 * cell["n"])}

    run(Sweep(outcome, grid, 5, name="outcome"), out)
    return out


def test_each_parameter_that_is_left_has_panels_or_a_choice(compared, draw):
    (said,) = draw(compared, "risk", "--x", "m", "--by", "n", status=2)
    assert "algorithm and noise vary, too: choose with --where 'algorithm == \"one\"'" in said
    grid = Grid.product({"n": [1, 2], "sure": [True, False], "far": [0.5, 1.0]})
    flags = compared.parent / "flags"
    run(Sweep(lambda cell, rng: {"risk": 1.0}, grid, 2, name="flags"), flags)
    (said,) = draw(flags, "risk", "--x", "n", status=2)
    assert "choose with --where 'sure == True'" in said
    _, figure = draw(compared, "risk", "--x", "m", "--by", "n", "--where", "noise == 0.1")
    assert [ax.get_title() for ax in figure.axes] == ["algorithm = one", "algorithm = two"]
    for ax, power in zip(figure.axes, (1.0, 2.0), strict=True):
        lines = [line for line in ax.lines if not line.get_label().startswith("_")]
        assert len(lines) == 3
        for line, n in zip(lines, (1, 2, 4), strict=True):
            x, y = line.get_data()
            assert list(y) == pytest.approx([n * each**-power for each in x])
    at_four = (compared, "risk", "--x", "m", "--where", "n == 4")
    _, figure = draw(*at_four, "--facet", "noise", "--by", "algorithm")
    assert [ax.get_title() for ax in figure.axes] == ["noise = 0.1", "noise = 0.2"]
    _, figure = draw(*at_four, "--where", "algorithm == 'two' and noise > 0.15")
    assert len(figure.axes) == 1


def test_a_phase_diagram_has_a_map_for_every_algorithm_on_one_scale(compared, draw):
    axes = ("--x", "n", "--y", "m", "--where", "noise == 0.1")
    _, figure = draw(compared, "risk", *axes)
    *maps, bar = figure.axes
    assert [ax.get_title() for ax in maps] == ["algorithm = one", "algorithm = two"]
    assert {ax.collections[0].get_clim() for ax in maps} == {(1 / 64, 4.0)}
    assert bar.get_ylabel() == "risk"
    _, shares = draw(compared, "done", *axes)
    assert shares.axes[0].collections[0].get_clim() == (0.0, 1.0)


def test_thresholds_that_are_missing_are_said(compared):
    threshold = ("summary", compared, "done", "--threshold", "m", "--by", "algorithm,n")
    output = call(*threshold, "--exponents", "n", status=1)
    assert "2 of 6 thresholds are missing: 2 above m = 8, 0 below m = 1" in output
    assert output.count("none, 2 points are too few") == 2
    assert output.count("; without 1 that have no estimate (n = 4)") == 2
    assert "2 of 6 thresholds are missing" in call(*threshold)


def test_algorithms_that_sample_otherwise_are_said(folder, draw):
    """The reviewer's case: one fixed batch of an own algorithm beside fedrep's fresh ones."""
    (folder / "sampling_once.py").write_text(
        "import linrep as lr\n\n\ndef altgd(problem, *, m, rng):\n"
        "    return lr.altgdmin(problem.draw(m, rng=rng), k=problem.k, rounds=5)\n"
    )
    words = "sweep sampling_once.py:altgd,fedrep --n 6 --d 4 --k 2 --m 5,9 --replicates 2 --out"
    for batches, said in (("", True), ("--batches fixed", False)):
        out = f"runs/{said}"
        call(f"{words} {out} {batches}")
        table = call("summary", out, "distance", "--by", "algorithm,m")
        plotted, figure = draw(out, "distance", "--x", "m", "--by", "algorithm")
        line = "samples were not drawn alike (sampling_once:altgd: fixed; fedrep: fresh)"
        for text in (table, plotted):
            assert (line in text) is said, text
        assert ((figure.get_suptitle() or "") == line) is said
    by = call("summary", "runs/True", "samples", "--by", "algorithm,sampling,settings")
    assert "step_size_rule=spectral" in by
