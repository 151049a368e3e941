"""How long tables of networks take: trials, times by device, ratios of methods."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from linrep import _trial, networks  # noqa: E402
from linrep.cli.network_times import SIMILAR, _fill, plan  # noqa: E402
from linrep.experiment import load  # noqa: E402
from linrep.sweeps import Grid, Sweep  # noqa: E402
from tests.test_cli_networks import SCRIPT, run  # noqa: E402, F401

TIMES = st.floats(0.001, 100.0)


class _Run:
    """A run whose start, rounds and evaluations take given times of a clock of its own."""

    def __init__(self, start, each, evaluation):
        self.start, self.each, self.evaluation, self.now = start, each, evaluation, 0.0

    def run(self, data, method, *, rounds, record, callback, **settings):
        self.now += self.start
        callback(0, {})
        for number in range(1, rounds + 1):
            self.now += self.each + (number == 1) * self.start  # the first warms up
            self.now += self.evaluation * (number in record)
            callback(number, {})
        self.now += 1e6  # what a trial does not wait for

    def choose_lr(self, *given, **settings):
        raise AssertionError("a trial tries no step sizes")


@given(TIMES, TIMES, TIMES, st.integers(1, 500), st.integers(1, 500))
def test_a_trial_tells_what_the_whole_run_takes(start, each, evaluation, rounds, tried):
    known = _Run(start, each, evaluation)

    def replicate(cell, rng):
        networks.choose_lr(None, None, [1.0, 2.0, 3.0], "", rounds=tried)
        networks.train(None, None, "", rounds=rounds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networks.deep, "run", known.run)
        patch.setattr(networks.deep, "choose_lr", known.choose_lr)
        patch.setattr(_trial, "time", SimpleNamespace(perf_counter=lambda: known.now))
        sweep = Sweep(replicate, Grid.product({"method": ["one"]}), 1)
        found = _trial.seconds(sweep, {"method": "one"})
    assert _trial.current() is None
    evaluations = len({*range(0, rounds, 20), *range(max(rounds - 10, 0) + 1, rounds + 1)})
    evaluations += 3 * min(tried, 10)
    whole = 2 * start + (rounds + 3 * tried) * each + evaluations * evaluation
    assert found == pytest.approx(whole)


def test_what_trains_no_network_is_run_as_a_whole(monkeypatch):
    def replicate(cell, rng):
        clock.append(7.0)

    clock = [0.0]
    monkeypatch.setattr(_trial, "time", SimpleNamespace(perf_counter=lambda: clock[-1]))
    sweep = Sweep(replicate, Grid.product({"x": [1]}), 1)
    assert _trial.seconds(sweep, {"x": 1}) == 7.0


@given(st.lists(TIMES, min_size=2, max_size=4), st.lists(TIMES, min_size=2, max_size=4))
def test_times_are_products_of_a_column_and_a_method(columns, methods):
    grid = Grid.product(
        {"column": range(len(columns)), "method": [str(i) for i in range(len(methods))]}
    )
    sweep = Sweep(lambda cell, rng: None, grid, 3, name="sweep")
    cells = dict(zip(sweep.names, sweep.grid, strict=True))
    times = {
        name: columns[cell["column"]] * methods[int(cell["method"])] for name, cell in cells.items()
    }
    table = pd.DataFrame(
        {
            "cell": name, "column": repr([cell["column"]]), "method": cell["method"], "by": None,
            # All of the first column is known, and one method of each other.
            "seconds": times[name] if cell["column"] == 0 or cell["method"] == "0" else np.nan,
        }
        for name, cell in cells.items()
    )  # fmt: skip
    given = table["seconds"].notna()
    _fill(table, pd.DataFrame(columns=["cell", "device", "by", "seconds"]), sweep, ["column"])
    np.testing.assert_allclose(table["seconds"], table["cell"].map(times), rtol=1e-6)
    assert table.loc[~given, "by"].eq(SIMILAR).all()
    assert table.loc[given, "by"].isna().all()


def _plan(capsys, recorded, device, try_out=False):
    item = load("mine.py")
    plan(item, Path("runs"), 0, lambda cell: True, None, recorded, device, 2, try_out)
    return capsys.readouterr().out.splitlines()


def _recorded(device):
    rows = [("Local", 10.0), ("FedRep", 20.0)]
    return pd.DataFrame(
        {"method": method, "replicate": replicate, "device": device, "trained": seconds}
        for method, seconds in rows
        for replicate in range(3)
    )


def test_times_are_those_of_the_device(run, capsys):  # noqa: F811
    head, _, *lines, total = _plan(capsys, _recorded("cpu"), "cpu")
    assert head == "mine.networks: Mine; times on cpu"
    assert [line.split() for line in lines] == [
        ["Local", "3", "0", "30", "s", "the", "record"],
        ["FedRep", "3", "0", "60", "s", "the", "record"],
    ]
    assert total == "about 45 s on 2 workers"
    head, _, *lines, hint = _plan(capsys, _recorded("some GPU"), "cpu")
    assert [line.split() for line in lines] == [
        ["Local", "3", "0", "-", "-"],
        ["FedRep", "3", "0", "-", "-"],
    ]
    assert hint.startswith("where nothing has been run")


def test_a_trial_stores_nothing(run, tmp_path):  # noqa: F811
    before = sorted(tmp_path.rglob("*"))
    result = run("mine.py", "--plan", "--trial")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert sum("a trial" in line for line in lines) == 2
    assert lines[-1].startswith("about ")
    left = [each for each in sorted(tmp_path.rglob("*")) if "__pycache__" not in str(each)]
    assert left == before


def test_a_trial_that_fails_is_named(run, tmp_path):  # noqa: F811
    text = SCRIPT.replace("    seed = int(", '    raise ValueError("no network")\n    seed = int(')
    (tmp_path / "mine.py").write_text(text)
    result = run("mine.py", "--plan", "--trial")
    assert result.exit_code == 0
    assert "ValueError: no network (mine.py:" in result.output
    assert result.output.splitlines()[-1].startswith("where nothing has been run")


def test_trials_are_for_plans(run):  # noqa: F811
    result = run("mine.py", "--trial")
    assert result.exit_code == 2
    assert result.output == "Error: --trial needs --plan\n"
