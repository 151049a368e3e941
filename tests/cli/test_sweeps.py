"""The commands for sweeps: what they do, what they print, how they answer bad input."""

import asyncio
import json
import re
import shlex
import sys
from concurrent.futures import Future

import pytest

from linrep import simulation
from linrep.algorithms.baselines import ridge
from linrep.cli.axes import axis_section
from linrep.simulation import replicates
from linrep.simulation.parameters import known_parameters, required
from linrep.sweeps import cell_name, open_run
from tests.cli.support import call
from tests.sweeps.support import content

SWEPT = '''
def measure(cell, rng):
    """Return a number."""
    return {"x": rng.random() + cell["a"]}

def fragile(cell, rng):
    if cell["a"] == 2:
        raise ValueError("two")
    return rng.random()

'''
TOML = """
algorithm = ["fedrep", "fedsgd"]
replicates = 2
seed = 3
out = "from_file"
keep = "trace"
zip = [["n", "d"]]
derive = ["m = 4 * k"]
where = "n > 5"

[axes]
n = [5, 6, 8]
d = "4:6"
k = 2
rounds = 3
step_size = 0.1
"""
MEASURE = ("--function", "swept_here.py:measure", "--a", "1,2", "--replicates", "3")


@pytest.fixture(autouse=True)
def files(folder):
    (folder / "swept_here.py").write_text(SWEPT)
    (folder / "sweep.toml").write_text(TOML)


# --- sweep ---


def test_flags_make_axes(folder):
    out = call("sweep fedrep --n 5:7:2 --d=4,6 --k 2 --m 8 --rounds 2 --step-size 0.1"
               " --replicates 2 --seed 5")  # fmt: skip
    assert "runs/fedrep: 8 of 8 replicates, 0 failed" in out
    run = open_run(folder / "runs" / "fedrep")
    assert [(cell["n"], cell["d"]) for cell in run.cells] == [(5, 4), (5, 6), (7, 4), (7, 6)]
    assert {cell["step_size"] for cell in run.cells} == {0.1}
    assert run.description["seed"] == 5
    assert run.replicates == 2


@pytest.mark.parametrize(
    "line",
    [
        "fedrep --n 6 --d 4 --k 2 --m 8 --rounds 3",
        "--n 6 --d 4 --k 2 --m 8 --rounds 3 fedrep",
        "--n 6 --d 4 fedrep --k 2 --m 8 --rounds 3",
    ],
)
def test_algorithm_and_axes_come_in_any_order(folder, line):
    call(f"sweep {line} --replicates 2")
    (cell,) = open_run(folder / "runs" / "fedrep").cells
    assert cell == {"algorithm": "fedrep", "n": 6, "d": 4, "k": 2, "m": 8, "rounds": 3}


def test_any_function_can_be_swept(folder):
    assert "runs/measure: 6 of 6 replicates, 0 failed" in call("sweep", *MEASURE)
    rows = open_run(folder / "runs" / "measure").read()
    assert ((rows["x"] >= rows["a"]) & (rows["x"] < rows["a"] + 1)).all()
    out = call(
        "sweep", "--a", "1,2", "--b", "u,v", "--c", "3,4", "--zip", "a, c", "--derive",
        "e = 10 * a", "--where", "e > 10", "--paired", "b, c", "--function", "swept_here:measure",
        "--replicates", "2", "--out", "mine",
    )  # fmt: skip
    assert "2 cells left out: e > 10" in out
    run = open_run(folder / "mine")
    assert [tuple(cell.values()) for cell in run.cells] == [(2, "u", 4, 20), (2, "v", 4, 20)]
    assert run.read()["stream"].nunique() == 1


def test_a_file_says_what_flags_do(folder):
    out = call("sweep", "--from", "sweep.toml")
    assert "2 cells left out: n > 5" in out
    run = open_run(folder / "from_file")
    found = [(c["algorithm"], c["n"], c["d"], c["k"], c["m"]) for c in run.cells]
    assert found == [
        (name, n, d, 2, 8) for name in ("fedrep", "fedsgd") for n, d in ((6, 5), (8, 6))
    ]
    assert (run.replicates, run.description["seed"]) == (2, 3)
    assert run.description["settings"] == {"keep": "trace"}
    assert run.read()["round"].max() == 3


def test_a_file_names_functions_beside_it_and_may_begin_with_a_mark(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "near.py").write_text(
        SWEPT + "\ndef mean(problem, *, rng):\n    return {'x': 1}"
    )
    head = "\ufeffreplicates = 1\n"
    for place, name, axes in (
        ("function", "measure", "a = 1\nb = 'x.py:y'"),
        ("algorithm", "mean", "n = 4\nd = 3\nk = 1"),
    ):
        text = f"{head}out = '{place}'\n{place} = 'near.py:{name}'\n[axes]\n{axes}\n"
        (folder / "sub" / "it.toml").write_text(text, "utf-8")
        out = call("sweep", "--from", "sub/it.toml", "--allow", f"near.py:{name}", status=2)
        assert f"'sub/near.py:{name}' is named by a file" in out
        out = call("sweep", "--from", "sub/it.toml", "--allow", f"sub/near.py:{name}")
        assert "1 of 1 replicates, 0 failed" in out
    assert open_run(folder / "function").cells[0]["b"] == "x.py:y"


def test_flags_win_over_the_file(folder):
    line = "sweep fedrep --from sweep.toml --replicates 1 --seed 0 --out other --keep final --k 1"
    call(line, "--where", "n > 6")
    assert not (folder / "from_file").exists()
    run = open_run(folder / "other")
    assert [cell["n"] for cell in run.cells] == [8]
    assert {(cell["algorithm"], cell["k"], cell["m"]) for cell in run.cells} == {("fedrep", 1, 4)}
    assert (run.replicates, run.description["seed"]) == (1, 0)
    call("sweep --from sweep.toml --function swept_here.py:measure --a 1 --out third", status=2)


def test_failures_are_counted_shown_and_described_how_to_see(folder):
    arguments = ("--function", "swept_here:fragile", "--a", "1:3", "--replicates", "2")
    out = call("sweep", *arguments, status=1)
    assert "6 of 6 replicates, 2 failed" in out
    assert "ValueError: two" in out
    alone = re.search(r"the same command with (.*) runs it alone", out)[1]
    again = call("sweep", *arguments, *shlex.split(alone))
    assert "Traceback" in again
    assert "ValueError: two" in again
    assert "the same as stored" in again
    assert "failed" in call("summary")
    assert call("sweep", *arguments, "--retry-failed", status=1).count("2 failed") == 1


def test_what_is_printed_selects_any_cell(folder):
    """Also one with commas, quotes and spaces in its values and in the directory."""
    (folder / "odd.toml").write_text(
        'function = "swept_here.py:odd"\nreplicates = 1\nout = "my runs/a b"\n'
        '[axes]\na = ["it\'s, \'so\' \\"x\\"", "10", "true"]\nb = 1\n'
    )
    (folder / "swept_here.py").write_text("def odd(cell, rng):\n    raise KeyError(cell['a'])\n")
    out = call("sweep", "--from", "odd.toml", status=2)
    assert "'swept_here.py:odd' is named by a file" in out
    words = ("sweep", "--from", "odd.toml", "--allow", "swept_here.py:odd")
    out = call(*words, status=1)
    alone = shlex.split(re.search(r"command with (.*) runs it alone", out)[1])
    assert "the same as stored" in call(*words, *alone)
    for cell in open_run(folder / "my runs" / "a b").names:
        assert f"{cell}, replicate 0" in call(*words, "--only", cell, "0")


# --- dry-run ---


def test_a_dry_run_says_how_much_it_is_and_writes_nothing(folder):
    before = content(folder)
    out = call("sweep --from sweep.toml --dry-run --workers 2")
    assert "4 cells, 2 replicates each: 8" in out
    assert "2 cells left out: n > 5" in out
    assert re.search(r"about [\d.]+ (bytes|kB) in from_file", out)
    assert re.search(r"about [\d.e-]+ s on 2 workers, estimated from one replicate of 4 cells", out)
    assert {path for path in content(folder) if "__pycache__" not in path} == set(before)


def test_a_dry_run_tells_of_a_failure():
    line = "sweep --function swept_here.py:fragile --dry-run --a"
    assert "a replicate failed: ValueError: two" in call(line, "1,2")
    said = call(line, 2, status=2)
    assert "Error: all replicates that were tried fail: ValueError: two" in said


# --- lists of runs, one replicate, merge ---


def test_runs_lists_what_is_done_and_missing(folder):
    call("sweep", *MEASURE, "--shard", "1/3")
    call("sweep", *MEASURE, "--out", "runs/deep/whole")
    lines = {line.split()[0]: line.split()[1:] for line in call("summary").splitlines()}
    assert lines["runs/measure"] == ["2", "2", "4", "0"]
    assert lines["runs/deep/whole"] == ["2", "6", "0", "0"]
    assert "measure" not in call("summary", "runs/deep")
    part = next((folder / "runs" / "measure" / "parts").glob("*.parquet"))
    part.write_bytes(b"")
    assert f"damaged: {part.name}" in call("summary", "runs/measure", status=1)


def test_one_replicate_says_whether_it_is_the_same(folder):
    call("sweep", *MEASURE)
    before = content(folder / "runs")
    out = call("sweep", *MEASURE, "--only", "a=2", 1)
    assert "a=2, replicate 1" in out
    assert "the same as stored" in out
    assert "NOT" not in out
    (folder / "swept_here.py").write_text(SWEPT.replace('+ cell["a"]', "+ 5"))
    out = call("sweep", *MEASURE, "--only", "a=2", 1, status=1)
    assert "NOT the same as stored" in out
    assert "other code (changed: measure)" in out
    (folder / "swept_here.py").write_text(SWEPT.replace('+ cell["a"]', "/ 0"))
    out = call("sweep", *MEASURE, "--only", "a=2", 1, status=1)
    assert "ZeroDivisionError" in out
    assert "NOT the same as stored" in out
    assert content(folder / "runs") == before


#: A file that tells whether it was run.
MARKED = "open('ran', 'w').close()\n\n\ndef measure(cell, rng):\n    return 1.0\n"


@pytest.mark.parametrize("name", ["evil.py:measure", "evil:measure", "evil.inner:measure"])
@pytest.mark.parametrize("place", ["function", "algorithm"])
def test_files_run_no_code_that_the_caller_has_not_named(folder, name, place):
    (folder / "evil.py").write_text(MARKED)
    (folder / "evil.toml").write_text(f'{place} = "{name}"\nreplicates = 1\n[axes]\na = 1\n')
    for more in ((), ("--dry-run",)):
        out = call("sweep", "--from", "evil.toml", *more, status=2)
        assert f"{name!r} is named by a file" in out
    assert not (folder / "ran").exists()


def test_an_axis_of_a_file_names_no_algorithm_either(folder):
    (folder / "evil.py").write_text(MARKED)
    (folder / "evil.toml").write_text(
        'function = "linrep.simulation:simulate"\n'
        '[axes]\nalgorithm = ["evil.py:measure"]\nn = 4\nd = 3\nk = 1\nm = 5\n'
    )
    for more in ((), ("--function", "linrep.simulation:simulate"), ("--dry-run",)):
        call("sweep", "--from", "evil.toml", *more, status=2)
    assert not (folder / "ran").exists()


def test_a_run_from_elsewhere_runs_no_code(folder):
    call("sweep", *MEASURE, "--out", "run")
    (folder / "evil.py").write_text(MARKED)
    path = folder / "run" / "sweep.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps({**description, "target": "evil.py:measure", "path": [str(folder)]}))
    for line in ("summary run", "summary run x", "merge all run", "plot run x --x a"):
        call(line)
    assert not (folder / "ran").exists()


# --- runs that are not whole ---


def test_what_reads_a_run_says_that_it_is_not_whole(folder):
    call("sweep", *MEASURE, "--shard", "1/2", "--out", "part")
    call("sweep", *MEASURE, "--out", "whole")
    for line in ("summary {} x", "plot {} x --x a", "merge all {}"):
        part = line.format("part")
        assert "is incomplete: 3 of 6 replicates" in call(part, status=1)
        assert "incomplete: 3 of 6 replicates" in call(part, "--partial")
        assert "incomplete" not in call(line.format("whole"))
    table = call("summary", "part", "x", "--csv", "x.csv", "--partial")
    assert re.search(r"1 +1 +2 +0", table)
    assert "1,1,2,0," in (folder / "x.csv").read_text()
    call("plot", "part", "x", "--x", "a", "--out", "part.svg", "--partial")
    assert "3 of 6 replicates" in (folder / "part.svg").read_text()


@pytest.mark.parametrize("name", simulation.ALGORITHMS)
def test_help_lists_the_axes_of_an_algorithm(name):
    family = simulation.family_of(name)
    function = simulation.find_algorithm(name)
    described = dict(axis_section([name])[1])
    groups = {axes for axes, text in described.items() if text.startswith("required")}
    assert groups == {" ".join(f"--{axis}" for axis in each) for each in required(function, family)}
    axes = " ".join(described).split()
    assert sorted(axes) == sorted(f"--{axis}" for axis in known_parameters(function, family))
    out = call("sweep", name, "--help")
    assert f"Axes of {name}" in out
    assert all(axis in out for axis in axes)


SIZES = ("--n", "10", "--m", "5", "--d", "6", "--k", "2", "--rounds", "10")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fedrep,flute,pflmf,anil,maml,local_only,altgdmin,altmin_gd,pooled,ridge", *SIZES),
        ("fedrep", *SIZES, "--keep", "rate"),
        ("fedrep", *SIZES, "--record", "30"),
        ("gauss_newton,nuclear_norm,alternating", "--n", "9", "--d", "6", "--p", "3", "--k", "2",
         "--entries", "40"),
    ],
)  # fmt: skip
def test_settings_that_no_algorithm_refuses_are_run(arguments):
    assert "0 failed" in call("sweep", *arguments, "--replicates", 1)


@pytest.mark.parametrize("reason", ["sizes", "data", "rounds"])
def test_what_some_replicates_refuse_is_a_failed_row(monkeypatch, reason):
    seen = []

    def pooled(data, *, rounds=3):
        seen.append(rounds)
        if {"sizes": data.n == 4, "data": len(seen) % 2 == 1, "rounds": rounds == 2}[reason]:
            raise ValueError("no")
        return fitted(data)

    fitted = ridge.pooled
    monkeypatch.setattr(ridge, "pooled", pooled)
    replicates._found.cache_clear()
    line = "sweep pooled --n 4,5 --d 3 --k 1 --m 9 --replicates 4 --workers 1"
    out = call(line, status=int(reason != "rounds"))
    replicates._found.cache_clear()
    assert "8 of 8 replicates" in out


# --- what a terminal or a spreadsheet would obey ---


ODD = "\x1b[2J\x1b]0;owned\x07\u202ebackwards\x9b31m"


def test_texts_of_data_move_no_cursor_and_are_no_formulas(folder):
    values = json.dumps([ODD, "=1+1", "@SUM(A1)", "plain"])
    (folder / "odd.toml").write_text(f"replicates = 2\nout = 'odd'\n[axes]\na = {values}\n")
    (folder / "swept_here.py").write_text(
        "def number(cell, rng):\n    return {'x': rng.random()}\n"
        "def wild(cell, rng):\n    raise ValueError(cell['a'])\n"
    )
    sweep = ("sweep", "--from", "odd.toml", "--function")
    number = (*sweep, "swept_here.py:number")
    outputs = [
        call(*number),
        call("summary", "odd", "x", "--csv", "odd.csv"),
        call("summary", "odd"),
        call(*number, "--only", cell_name({"a": ODD}), "0"),
        call(*sweep, "swept_here.py:wild", "--out", "w", status=1),
        call("summary", f"no {ODD}", "x", status=2),
    ]
    for out in outputs:
        assert not any(mark in out for mark in "\x1b\x07\x9b\u202e"), out
    assert "\\x1b[2J" in outputs[1]
    table = (folder / "odd.csv").read_text()
    for text in ("'=1+1,", "'@SUM(A1),", "\nplain,"):
        assert text in table


# --- machines ---


def test_rows_that_differ_are_told_with_their_difference(folder):
    call("sweep", *MEASURE, "--out", "one")
    (folder / "swept_here.py").write_text(SWEPT.replace("rng.random()", "1.001 * rng.random()"))
    sys.modules.pop("swept_here")
    call("sweep", *MEASURE, "--out", "two")
    assert "of other code (changed: measure)" in call("merge", "all", "one", "two", status=2)
    merged = call("merge", "all", "one", "two", "--same-code")
    assert "replicates were computed twice, and 6 of 6 row(s) differ, by at most" in merged
    assert "(column x)" in merged
    out = call("sweep", *MEASURE, "--out", "one", "--only", "a=1", "0", status=1)
    assert re.search(r"NOT the same as stored: 1 of 1 row\(s\) differ, by at most \S+", out)


@pytest.mark.parametrize("lost", ["submitted", "cancelled", "closed"])
def test_a_scheduler_that_ends_at_any_moment_is_named_in_one_line(monkeypatch, lost):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")

    class Scheduler:
        address = "tcp://here:1"

        async def identity(self):
            return {"workers": {"tcp://there:1": {"last_seen": 0.0, "nthreads": 1}}}

    class Client:
        """A client of Dask and its executor, as they are when the scheduler ends."""

        __module__ = "distributed"
        scheduler = Scheduler()

        def __init__(self, address, timeout):
            self.status = "closed" if lost == "closed" else "running"
            self._client = self

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def sync(self, find):
            asyncio.run(find())

        def get_executor(self):
            return self

        def submit(self, *_, **options):
            if lost == "submitted":
                raise distributed.comm.CommClosedError("in <TCP>: Stream is closed")
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    monkeypatch.setattr(distributed, "Client", Client)
    out = call("sweep", *MEASURE, "--dask", "tcp://here:1", status=1)
    assert out == "Error: the scheduler tcp://here:1 is gone; what was finished is stored; " \
        "the same command continues from there\n"  # fmt: skip
