"""What `linrep networks --plan` says is done, missing, and how long it takes."""

from pathlib import Path

import pandas as pd
import pytest

torch = pytest.importorskip("torch")

from linrep.cli import network_tables  # noqa: E402
from linrep.cli.estimate import duration  # noqa: E402
from linrep.figures.experiment import load  # noqa: E402
from linrep.figures.network_runs import Table  # noqa: E402
from tests.cli.test_networks import RESULTS, SCRIPT, command, here, run  # noqa: E402, F401


def _plan(capsys, rows=None, device="cpu", *, workers=2, record=True):
    """Return the plan's lines beside recorded rows, which a record keeps or only times tell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_tables, "_comparable", lambda *given: rows)
        kept = rows if record else None
        table = Table(load("mine.py"), 0, lambda cell: True)
        chosen = network_tables.Chosen(table, table, Path(), kept)
        network_tables.show_plan(chosen, device, workers)
    return capsys.readouterr().out.splitlines()


def _recorded(device="cpu", local=10.0, replicates=1):
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
        ["Local", "3", "1", "20", "s"],
        ["FedRep", "3", "1", "40", "s"],
    ]
    assert total == "about 30 s on 2 workers"
    assert _plan(capsys, _recorded(), record=False)[2].split() == ["Local", "3", "0", "30", "s"]
    _, _, *lines = _plan(capsys, _recorded("some GPU"))
    assert [line.split()[1:] for line in lines] == 2 * [["3", "1", "-"]]


def test_what_is_done_takes_no_time_on_any_device(run, capsys):  # noqa: F811
    _, _, *lines = _plan(capsys, _recorded("some GPU", replicates=3))
    assert [line.split() for line in lines] == [
        ["Local", "3", "3", "0", "s"],
        ["FedRep", "3", "3", "0", "s"],
    ]


def test_a_run_has_one_worker_and_workers_share_a_gpu(run, capsys):  # noqa: F811
    assert _plan(capsys, _recorded(), workers=16)[-1] == "about 20 s on 16 workers"
    one = _recorded("some GPU")
    assert _plan(capsys, one, "some GPU", workers=8)[-1] == f"about {duration(60.0)} on 1 worker"


def test_a_method_without_times_lasts_as_long_as_the_others(run, capsys):  # noqa: F811
    text = SCRIPT.replace('{"method": SHOWN}', '{"n": (6, 8), "method": SHOWN}')
    Path("mine.py").write_text(text)
    rows = _recorded(local=0.0).assign(n=8)
    assert _plan(capsys, rows)[3].split() == ["8", "6", "2", "80", "s"]


def test_columns_without_times_are_not_in_the_sum(run, capsys):  # noqa: F811
    text = SCRIPT.replace('{"method": SHOWN}', '{"n": (6, 8), "fixed": (1,), "method": SHOWN}')
    Path("mine.py").write_text(text)
    rows = _recorded().assign(n=8, fixed=1)
    assert [line.split() for line in _plan(capsys, rows)[1:]] == [
        ["n", "runs", "done", "time", "on", "one", "worker"],
        ["6", "6", "0", "-"],
        ["8", "6", "2", "60", "s"],
        ["at", "least", "30", "s", "on", "2", "workers"],
    ]


def test_recorded_rows_of_no_cell_are_not_done(run, capsys):  # noqa: F811
    rows = _recorded().assign(method="another")
    assert [line.split()[1:] for line in _plan(capsys, rows)[2:]] == 2 * [["3", "0", "-"]]


def test_a_time_does_not_depend_on_the_number_of_seeds(run):  # noqa: F811
    assert run("mine.py", "--workers", "1", "--record").exit_code == 0
    assert not RESULTS.joinpath("replicates=1").exists()
    few = run("mine.py", "--plan", "--replicates", "1").output.splitlines()
    assert few[-1].startswith("about ")
