"""How long tables of networks take: trials, times by device, ratios of methods."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from linrep.cli import network_times  # noqa: E402
from linrep.cli.estimate import duration  # noqa: E402
from linrep.cli.network_times import MEAN, RATIOS, _fill, _named, _stored, plan  # noqa: E402
from linrep.figures import networks, trial  # noqa: E402
from linrep.figures.experiment import RUNS, load, run_directory, sweep_of  # noqa: E402
from linrep.sweeps import Grid, Sweep, open_run  # noqa: E402
from tests.cli.test_networks import RESULTS, SCRIPT, run  # noqa: E402, F401

TIMES = st.floats(0.001, 100.0)


class _Run:
    """A run whose start, rounds and evaluations take given times of a clock of its own."""

    def __init__(self, start, each, evaluation):
        self.start, self.each, self.evaluation, self.now = start, each, evaluation, 0.0

    def run(self, data, method, *, rounds, record, callback, **settings):
        self.now += self.start + self.evaluation  # the start is always evaluated
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
        patch.setattr(trial, "time", SimpleNamespace(perf_counter=lambda: known.now))
        sweep = Sweep(replicate, Grid.product({"method": ["one"]}), 1)
        found = trial.seconds(sweep, {"method": "one"})
    assert trial.current() is None
    evaluations = len({*range(0, rounds, 20), *range(max(rounds - 10, 0) + 1, rounds + 1)})
    evaluations += 3 * (1 + min(tried, 10))
    whole = 2 * start + (rounds + 3 * tried) * each + evaluations * evaluation
    assert found == pytest.approx(whole)


def test_what_trains_no_network_is_run_as_a_whole(monkeypatch):
    def replicate(cell, rng):
        clock.append(7.0)

    clock = [0.0]
    monkeypatch.setattr(trial, "time", SimpleNamespace(perf_counter=lambda: clock[-1]))
    sweep = Sweep(replicate, Grid.product({"x": [1]}), 1)
    assert trial.seconds(sweep, {"x": 1}) == 7.0


def _filled(known, columns):
    """Return what times are filled in, by column and method, and from what."""
    cells = [(column, method) for column in columns for method in columns[column]]
    grid = {f"{c} {m}": {"column": c, "method": m} for c, m in cells}
    times = {name: (columns[cell["column"]][cell["method"]], "given") for name, cell in grid.items()
             if columns[cell["column"]][cell["method"]] is not None}  # fmt: skip
    elsewhere = {
        name: seconds
        for column, own in known.items()
        for method, seconds in own.items()
        for name in [f"{column} {method}"]
    }
    grid |= {name: dict(zip(("column", "method"), name.split(), strict=True)) for name in elsewhere}
    by_column: dict = {}
    for column, method in cells:
        by_column.setdefault(column, []).append(f"{column} {method}")
    _fill(times, by_column, grid, {"the record": {"another device": elsewhere}})
    return times


@given(st.lists(TIMES, min_size=2, max_size=4), st.lists(TIMES, min_size=2, max_size=4))
def test_methods_differ_as_they_do_elsewhere(columns, methods):
    known = {"other": {str(m): seconds for m, seconds in enumerate(methods)}}
    asked = {
        str(c): {str(m): scale * seconds if m == 0 else None for m, seconds in enumerate(methods)}
        for c, scale in enumerate(columns)
    }
    times = _filled(known, asked)
    for c, scale in enumerate(columns):
        for m, seconds in enumerate(methods):
            found, source = times[f"{c} {m}"]
            assert found == pytest.approx(scale * seconds, rel=1e-6)
            assert source == ("given" if m == 0 else RATIOS)


def test_columns_that_are_alike_go_before_others():
    settings = {"mine": (100, True), "like it": (50, True), "unlike": (50, False)}
    times = {"like it": {"A": 1.0, "B": 5.0}, "unlike": {"A": 1.0, "B": 1.5}}
    grid = {
        f"{column} {method}": {"n": n, "augment": augment, "method": method}
        for column, (n, augment) in settings.items()
        for method in "AB"
    }
    known = {f"{c} {m}": seconds for c, own in times.items() for m, seconds in own.items()}
    found = {"mine A": (10.0, "given")}
    _fill(found, {"mine": ["mine A", "mine B"]}, grid, {"the record": {"cpu": known}})
    assert found["mine B"] == (pytest.approx(50.0), RATIOS)


@given(st.floats(1e-3, 1e3))
def test_what_has_nothing_to_be_compared_by_takes_as_long_as_the_others(unit):
    # B and C have run elsewhere, but never beside A, whatever times are counted in.
    times = _filled({"other": {"B": unit, "C": 2 * unit}}, {"0": {"A": 100 * unit, "B": None}})
    assert times["0 B"] == (pytest.approx(100 * unit), MEAN)


def _plan(capsys, recorded=None, device="cpu", *, workers=2, kept=None):
    plan(
        load("mine.py"), runs=Path("runs"), seed=0, wanted=lambda cell: True, kept=kept,
        recorded=recorded, device=device, workers=workers, try_out=False,
    )  # fmt: skip
    return capsys.readouterr().out.splitlines()


def _recorded(device="cpu", local=10.0, replicates=3):
    rows = [("Local", local), ("FedRep", 20.0)]
    return pd.DataFrame(
        {"method": method, "replicate": replicate, "device": device, "trained": seconds}
        for method, seconds in rows
        for replicate in range(replicates)
    )


def test_times_are_those_of_the_device(run, capsys):  # noqa: F811
    head, _, *lines, total = _plan(capsys, _recorded())
    assert head == "mine.networks: Mine; times on cpu"
    assert [line.split() for line in lines] == [
        ["Local", "3", "0", "30", "s", "the", "record"],
        ["FedRep", "3", "0", "60", "s", "the", "record"],
    ]
    assert total == "about 45 s on 2 workers"
    head, _, *lines, hint = _plan(capsys, _recorded("some GPU"))
    assert [line.split() for line in lines] == [
        ["Local", "3", "0", "-", "-"],
        ["FedRep", "3", "0", "-", "-"],
    ]
    assert hint.startswith("where nothing has been run")


def test_what_is_done_takes_no_time_on_any_device(run, capsys):  # noqa: F811
    rows = _recorded("some GPU")
    _, _, *lines = _plan(capsys, rows, kept=rows)
    assert [line.split() for line in lines] == [
        ["Local", "3", "3", "0", "s", "-"],
        ["FedRep", "3", "3", "0", "s", "-"],
    ]


def test_a_run_has_one_worker_and_workers_share_a_gpu(run, capsys):  # noqa: F811
    rows = _recorded()
    assert _plan(capsys, rows, workers=16)[-1] == "about 20 s on 16 workers"
    one = _recorded("some GPU")
    assert _plan(capsys, one, "some GPU", workers=8)[-1] == f"about {duration(90.0)} on 1 worker"


def test_times_that_are_none_are_left_out(run, capsys):  # noqa: F811
    lines = _plan(capsys, _recorded(local=0.0))
    assert lines[2].split() == ["Local", "3", "0", "-", "-"]
    assert lines[4] == "at least 30 s on 2 workers"


def test_the_record_is_taken_at_the_speed_of_the_runs_here(run, capsys):  # noqa: F811
    assert run("mine.py", "--where", "method == 'FedRep'", "--workers", "1").exit_code == 0
    item = load("mine.py")
    sweep = sweep_of(item)
    here = _stored(run_directory(RESULTS / RUNS, item, sweep))
    times = here.groupby("method")["seconds"].mean()
    assert (here["seconds"] >= here["trained"]).all()
    recorded = _recorded()
    plan(
        item, runs=RESULTS / RUNS, seed=0, wanted=lambda cell: True, kept=None, recorded=recorded,
        device="cpu", workers=1, try_out=False,
    )  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].endswith("the record, scaled")
    assert f" {duration(3 * 10.0 / 20.0 * times['FedRep'])} " in lines[2]
    assert lines[3].split()[:5] == ["FedRep", "3", "3", "0", "s"]


def test_a_run_that_went_on_counts_from_its_start(run):  # noqa: F811
    assert run("mine.py", "--where", "method == 'FedRep'", "--workers", "1").exit_code == 0
    item = load("mine.py")
    directory = run_directory(RESULTS / RUNS, item, sweep_of(item))
    rows = open_run(directory).read(partial=True)
    with pytest.MonkeyPatch.context() as patch:
        later = rows.assign(seconds=0.01 * rows["trained"])
        patch.setattr(
            network_times, "open_run", lambda path: SimpleNamespace(read=lambda partial: later)
        )
        assert (_stored(directory)["seconds"] == rows["trained"]).all()


def test_recorded_rows_of_no_cell_are_left_out(run):  # noqa: F811
    sweep = sweep_of(load("mine.py"))
    grid = dict(zip(sweep.names, sweep.grid, strict=True))
    rows = pd.concat([_recorded(), _recorded().assign(method="another")])
    assert len(_named(rows, sweep, grid)) == len(_recorded())
    assert _named(rows.drop(columns="trained"), sweep, grid)["seconds"].isna().all()


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
    assert result.output.splitlines()[-1] == "trials of 2 columns failed"


def test_a_time_does_not_depend_on_the_number_of_seeds(run):  # noqa: F811
    assert run("mine.py", "--workers", "1", "--record").exit_code == 0
    few = run("mine.py", "--plan", "--replicates", "1").output.splitlines()
    assert sum(line.endswith(" the record") for line in few) == 2
    assert few[-1].startswith("about ")


def test_trials_are_for_plans(run):  # noqa: F811
    result = run("mine.py", "--trial")
    assert result.exit_code == 2
    assert result.output == "Error: --trial needs --plan\n"


def test_a_plan_shows_what_tells_columns_apart_and_no_more():
    cells = [
        {"scale": scale, "data": "digits", "every": every, "n": n, "rounds": every * n}
        for scale, every in (("small", 1), ("paper", 10))
        for n in (8, 16)
    ]
    keys = list(cells[0])
    assert network_times._telling(cells, keys) == ["scale", "data", "n"]
    assert network_times._telling(cells[:1], keys) == ["data"]
    assert network_times._telling([{"scale": "small"}], ["scale"]) == ["scale"]
