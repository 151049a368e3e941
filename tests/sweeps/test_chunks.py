"""What a function may return, and what becomes of what it raises."""

import enum
import inspect
import os
import threading
import time
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest

import linrep
from linrep.sweeps import Grid, Sweep, open_run, run
from linrep.sweeps.chunks import Job, joined, run_chunk
from linrep.sweeps.coverage import Segment
from linrep.sweeps.directories import create_run
from tests.sweeps.support import toy


def rows_of(function, tmp_path, cells=({"a": 1},), replicates=1, **options):
    return toy(function, cells, replicates, **options).run(tmp_path / "run").read()


# --- what may be returned ---


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"x": 1.5, "y": "t"}, [{"x": 1.5, "y": "t"}]),
        ([{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 2}]),
        (({"x": 1},), [{"x": 1}]),
        (pd.DataFrame({"x": [1, 2], "y": ["s", "t"]}), [{"x": 1, "y": "s"}, {"x": 2, "y": "t"}]),
        (1.5, [{"value": 1.5}]),
        (3, [{"value": 3}]),
        (True, [{"value": True}]),
        (np.float32(0.5), [{"value": 0.5}]),
        (np.bool_(False), [{"value": False}]),
        (np.array(2.5), [{"value": 2.5}]),
        ({"x": np.int8(3), "y": np.str_("s"), "z": np.array(1.0)}, [{"x": 3, "y": "s", "z": 1.0}]),
        ({"x": -(2**63) + 1}, [{"x": -(2**63) + 1}]),
    ],
)
def test_what_a_function_may_return(tmp_path, result, expected):
    rows = rows_of(lambda cell, rng: result, tmp_path)
    assert set(rows["status"]) == {"ok"}
    assert rows[list(expected[0])].to_dict("records") == expected
    assert rows["row"].tolist() == list(range(len(expected)))
    assert set(rows["replicate"]) == {0}


def test_floats_are_kept_bit_for_bit(tmp_path):
    values = [0.1, -0.0, 5e-324, 1e308, np.inf, -np.inf, np.pi]
    rows = rows_of(lambda cell, rng: [{"x": value} for value in values], tmp_path)
    assert rows["x"].to_numpy().tobytes() == np.array(values).tobytes()
    rows = rows_of(lambda cell, rng: float("nan"), tmp_path / "nan")
    assert rows["status"].tolist() == ["ok"]
    assert rows["value"].isna().all()


def test_text_of_a_subclass_is_text(tmp_path):
    class Reason(enum.StrEnum):
        DONE = "done"

    rows = rows_of(lambda cell, rng: [{"x": Reason.DONE}, {"x": 1}, {"x": "é\n"}], tmp_path)
    assert rows["x"].tolist() == ["done", "1", "é\n"]


def test_no_rows_are_something_done(tmp_path):
    run = toy(lambda cell, rng: [], replicates=2).run(tmp_path / "run")
    assert run.count() == run.total == 4
    assert run.read().empty


def test_a_row_without_columns_counts(tmp_path):
    assert len(rows_of(lambda cell, rng: {}, tmp_path, replicates=3)) == 3


@pytest.mark.parametrize(
    ("result", "kind", "words"),
    [
        (None, "TypeError", "NoneType"),
        ("text", "TypeError", "str"),
        (b"text", "TypeError", "bytes"),
        (1j, "TypeError", "complex"),
        (np.zeros(2), "TypeError", "ndarray"),
        ([1, 2], "TypeError", "a row must be a mapping, got int"),
        ({"x": [1]}, "TypeError", "column 'x' must be a number, a string"),
        ({"x": 2**63}, "ValueError", "'x' must fit 64 bits"),
        ({"x": "\ud800"}, "UnicodeEncodeError", "surrogate"),
        ({1: 2}, "ValueError", "column 1 has a name that is not free"),
        ({"a": 2}, "ValueError", "column 'a' has the name of a parameter"),
        ({"value": 2}, "ValueError", "column 'value' has the name of a parameter"),
        (2, "ValueError", "column 'value' has the name of a parameter"),
        *(
            ({name: 2}, "ValueError", f"column {name!r} has a name that is not free")
            for name in (
                "cell", "replicate", "row", "status", "exception", "notes", "seconds", "stream",
                "versions",
            )
        ),
    ],
)  # fmt: skip
def test_what_a_function_may_not_return_is_a_failure(tmp_path, result, kind, words):
    rows = rows_of(lambda cell, rng: result, tmp_path, [{"a": 1, "value": 0}])
    assert rows["status"].tolist() == ["failed"]
    assert rows["exception"][0].startswith(kind)
    assert words in rows["exception"][0]
    assert (rows["a"][0], rows["value"][0]) == (1, 0)


def test_a_column_may_not_have_the_name_of_another_cells_parameter(tmp_path):
    def function(cell, rng):
        return {"b": 5} if "a" in cell else {"x": 1}

    rows = rows_of(function, tmp_path, [{"a": 1}, {"b": 2}])
    assert rows["status"].tolist() == ["failed", "ok"]
    assert rows["b"].isna().tolist() == [True, False]
    assert rows["b"][1] == 2


# --- failures ---


def test_the_place_of_a_failure_is_in_the_file_of_the_user(tmp_path):
    """Not where linrep or NumPy refused what that file gave them."""

    def linreps(cell, rng):
        linrep.fedrep(rounds=-1, problem=None)

    def numpys(cell, rng):
        np.linalg.cholesky(-np.eye(2))

    for function in (linreps, numpys):
        place = f"(test_chunks.py:{inspect.getsourcelines(function)[1] + 1})"
        found = rows_of(function, tmp_path / function.__name__)
        assert found["exception"][0].endswith(place)


def test_a_failing_replicate_becomes_a_row_and_stops_nothing(tmp_path):
    def function(cell, rng):
        if cell["a"] == 1:
            raise KeyError("over\nthere")
        return rng.random()

    rows = rows_of(function, tmp_path, [{"a": 1}, {"a": 2}], 2)
    assert rows["status"].tolist() == ["failed", "failed", "ok", "ok"]
    assert rows["value"].isna().tolist() == [True, True, False, False]
    assert rows["exception"].isna().tolist() == [False, False, True, True]
    assert rows["exception"][0].startswith("KeyError: ")
    assert "test_chunks.py:" in rows["exception"][0]
    assert "\n" not in rows["exception"][0]
    assert (rows["seconds"] >= 0).all()


def test_whatever_is_raised_is_a_failure(tmp_path):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    raised = [Mute(), SystemExit(0), OSError("\udcff"), AssertionError(), RecursionError("deep")]

    def function(cell, rng):
        raise raised[cell["a"]]

    rows = rows_of(function, tmp_path, [{"a": place} for place in range(len(raised))])
    assert rows["status"].tolist() == ["failed"] * len(raised)
    kinds = [error.partition(":")[0] for error in rows["exception"]]
    assert kinds == [type(error).__name__ for error in raised]


def test_settings_and_cell_are_a_functions_own(tmp_path):
    def function(cell, rng, *, q):
        q["list"].append(1)
        cell["a"] = 7
        return len(q["list"])

    rows = rows_of(function, tmp_path, [{"a": 1}, {"a": 2}], 3, settings={"q": {"list": [0]}})
    assert rows["value"].tolist() == [2] * 6
    assert rows["a"].tolist() == [1] * 3 + [2] * 3


# --- columns ---


def test_columns_of_parameters_and_results_have_their_types(tmp_path):
    cells = [
        {"i": 1, "f": 1, "s": "x", "b": True, "m": 1},
        {"i": 2, "f": 0.5, "b": False, "m": "u"},
    ]
    rows = rows_of(lambda cell, rng: {"x": 1, "y": 0.5, "z": True}, tmp_path, cells)
    kinds = {"i": "i", "f": "f", "b": "b", "x": "i", "y": "f", "z": "b", "replicate": "i"}
    for name, kind in kinds.items():
        assert rows[name].dtype.kind == kind, name
    assert rows["m"].tolist() == ["1", "u"]
    assert rows["s"].isna().tolist() == [False, True]
    assert list(rows)[:7] == ["i", "f", "s", "b", "m", "replicate", "row"]


def test_integers_that_floats_cannot_hold_are_text_beside_them(tmp_path):
    large = 2**62 + 1
    rows = rows_of(
        lambda cell, rng: [{"x": large}, {"x": 0.5}], tmp_path, [{"a": large}, {"a": 0.5}]
    )
    assert rows["x"].tolist() == [str(large), "0.5"] * 2
    assert rows["a"].tolist() == [str(large)] * 2 + ["0.5"] * 2


def test_large_integers_and_floats_of_different_chunks_are_kept(tmp_path):
    large = 2**62 + 1

    def some(cell, rng):
        return {"x": large if cell["a"] == 1 else 0.5, "y": 3 if cell["a"] == 1 else 0.5}

    for index in (1, 2):
        run(toy(some, [{"a": 1}, {"a": 2}], 1), tmp_path / "run", shard=(index, 2))
    rows = open_run(tmp_path / "run").read()
    assert rows["x"].tolist() == [str(large), "0.5"]
    assert rows["y"].tolist() == [3.0, 0.5]


def test_large_integers_beside_gaps_are_kept(tmp_path):
    large = 2**53 + 1

    def some(cell, rng):
        return {"x": large} if cell["a"] == large else {"y": 1}

    rows = rows_of(some, tmp_path, [{"a": large}, {"a": large - 1}, {"a": None}])
    assert rows["x"].tolist()[0] == str(large)
    assert rows["x"].isna().tolist() == [False, True, True]
    assert rows["a"].tolist()[:2] == [str(large), str(large - 1)]


def test_a_frame_with_a_column_twice_is_refused(tmp_path):
    frame = pd.DataFrame([[1, 2]], columns=["x", "x"])
    rows = rows_of(lambda cell, rng: frame, tmp_path)
    assert "column 'x' occurs twice" in rows["exception"][0]


def test_rows_say_what_computed_them(tmp_path):
    rows = rows_of(lambda cell, rng: 1, tmp_path)
    assert f"numpy {version('numpy')}" in rows["versions"][0]
    assert rows["cell"][0] == "a=1"


@pytest.mark.parametrize(
    "values",
    [
        [None, "text"],
        [1, "text", 2.0, True, None, 0.5],
        [True, 2],
        [True, None, False],
        [1, None, 0.5],
        [2**62 + 1, 0.5],
        [None, None],
        [-0.0, 1],
    ],
)
def test_columns_do_not_depend_on_the_chunks(tmp_path, values):
    """All replicates in one chunk, or a chunk for each, or some, or one by one and then joined."""
    sweep = toy(lambda cell, rng: {"x": values[cell["a"]]},
                [{"a": place} for place in range(len(values))], 1)  # fmt: skip
    whole = job(sweep, [Segment(name, 0, 1) for name in sweep.names])
    tables = []
    for size in (1, 2, len(values), "joined"):
        run = create_run(tmp_path / str(size), sweep)
        if size == "joined":
            chunks = [joined(list(map(run_chunk, whole.one_by_one())))]
        else:
            starts = range(0, len(values), size)
            segments = [whole.segments[start : start + size] for start in starts]
            chunks = [run_chunk(job(sweep, some)) for some in segments]
        for chunk in chunks:
            run.write(chunk.table, chunk.segments, 0)
        tables.append(
            run.read().drop(columns="seconds").astype({"cell": str, "stream": str, "versions": str})
        )
    for table in tables[1:]:
        pd.testing.assert_frame_equal(tables[0], table, check_exact=True)


# --- the budget of a chunk ---


def job(sweep, segments, seconds=60.0):
    return Job(
        function=sweep.function,
        settings=sweep.settings,
        segments=tuple(segments),
        cells=dict(zip(sweep.names, sweep.grid, strict=True)),
        keys={name: sweep.keys(cell) for name, cell in zip(sweep.names, sweep.grid, strict=True)},
        types=dict.fromkeys(sweep.parameters, "int64"),
        seconds=seconds,
        home=os.getpid(),
    )


def test_a_chunk_whose_time_is_over_leaves_the_rest():
    sweep = toy(lambda cell, rng: rng.random(), replicates=9)
    segments = Segment("a=1", 2, 9), Segment("a=2", 0, 9)
    chunk = run_chunk(job(sweep, segments, seconds=1e-9))
    assert chunk.segments == (Segment("a=1", 2, 3),)
    assert chunk.table["replicate"].to_pylist() == [2]
    whole = run_chunk(job(sweep, segments))
    assert whole.segments == segments
    assert whole.table["replicate"].to_pylist() == [*range(2, 9), *range(9)]
    assert whole.table["value"][0] == chunk.table["value"][0]


def test_replicates_one_by_one_are_those_of_their_chunk():
    def function(cell, rng):
        number = rng.integers(4)
        if number == 0:
            raise RuntimeError("zero")
        return [{f"of {number}": rng.random(), "both": int(number)}] * int(number - 1)

    every = job(toy(function, replicates=9), [Segment("a=2", 3, 9), Segment("a=1", 0, 9)])
    whole, apart = run_chunk(every), joined(list(map(run_chunk, every.one_by_one())))
    assert (apart.segments, apart.failed) == (whole.segments, whole.failed)
    names = [name for name in whole.table.column_names if name.startswith(("of", "both"))]
    assert [name for name in apart.table.column_names if name in names] == names
    columns = ["a", "replicate", "row", *names, "status", "exception", "stream"]
    one, other = (chunk.table.select(columns).to_pandas() for chunk in (whole, apart))
    pd.testing.assert_frame_equal(one.astype({"status": str}), other.astype({"status": str}))


def test_a_replicate_that_takes_too_long_has_failed_though_it_came_to_an_end():
    def function(cell, rng):
        time.sleep(0.05 * (cell["a"] == 2))
        return 1

    every = job(toy(function, replicates=1), [Segment("a=1", 0, 1), Segment("a=2", 0, 1)])
    chunk = run_chunk(replace(every, timeout=0.04))
    assert chunk.table["exception"].to_pylist() == [None, "TimeoutError: longer than 0.04 s"]
    assert chunk.table["value"].to_pylist() == [1, None]
    assert chunk.failed == 1


def test_a_chunk_ends_after_the_replicate_in_which_it_is_stopped():
    stop = threading.Event()
    calls = []

    def function(cell, rng):
        calls.append(cell)
        if len(calls) == 3:
            stop.set()
        return 1

    chunk = run_chunk(job(Sweep(function, Grid.product({"a": [1, 2]}), 2),
                          [Segment("a=1", 0, 2), Segment("a=2", 0, 2)]), stop.is_set)  # fmt: skip
    assert chunk.segments == (Segment("a=1", 0, 2), Segment("a=2", 0, 1))
    assert chunk.table.num_rows == len(calls) == 3
