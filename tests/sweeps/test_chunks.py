"""What a function may return, and what becomes of what it raises."""

import inspect
import time
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

import linrep
from linrep.sweeps import create_run
from linrep.sweeps.chunks import joined, run_chunk
from linrep.sweeps.specification import RESERVED
from tests.sweeps.support import job, toy


def rows_of(function, tmp_path, cells=({"a": 1},), replicates=1, **options):
    return toy(function, cells, replicates, **options).run(tmp_path / "run").read()


# --- what may be returned ---


FLOATS = [0.1, -0.0, 5e-324, 1e308, np.inf, -np.inf, np.pi]
RESULTS = [
    ({"x": 1.5, "y": "t"}, [{"x": 1.5, "y": "t"}]),
    ([{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 2}]),
    (({"x": 1},), [{"x": 1}]),
    (pd.DataFrame({"x": [1, 2], "y": ["s", "t"]}), [{"x": 1, "y": "s"}, {"x": 2, "y": "t"}]),
    (1.5, [{"value": 1.5}]),
    (3, [{"value": 3}]),
    (True, [{"value": True}]),
    (np.float32(0.5), [{"value": 0.5}]),
    (np.array(2.5), [{"value": 2.5}]),
    ({"x": np.int8(3), "y": np.str_("s"), "z": np.array(1.0)}, [{"x": 3, "y": "s", "z": 1.0}]),
    ([{"x": "é\n"}, {"x": 1}], [{"x": "é\n"}, {"x": "1"}]),
    ({"x": -(2**63) + 1024}, [{"x": -(2**63) + 1024}]),
    ([], []),
    ({}, [{}]),
]
REFUSED = [
    (None, "TypeError", "NoneType"),
    ("text", "TypeError", "str"),
    (b"text", "TypeError", "bytes"),
    (1j, "TypeError", "complex"),
    (np.zeros(2), "TypeError", "ndarray"),
    ([1, 2], "TypeError", "a row must be a mapping, got int"),
    ({"x": [1]}, "TypeError", "column 'x' must be a number, a string"),
    ({"x": 2**63}, "ValueError", "'x' must be an integer that a float can hold"),
    ({"x": 2**53 + 1}, "ValueError", "'x' must be an integer that a float can hold"),
    ({"x": "\ud800"}, "UnicodeEncodeError", "surrogate"),
    ({1: 2}, "ValueError", "column 1 has a name that is not free"),
    ({"a": 2}, "ValueError", "column 'a' has the name of a parameter"),
    ({"b": 2}, "ValueError", "column 'b' has the name of a parameter"),  # of another cell
    (2, "ValueError", "column 'value' has the name of a parameter"),
    (pd.DataFrame([[1, 2]], columns=["x", "x"]), "ValueError", "column 'x' occurs twice"),
    *(({name: 2}, "ValueError", f"{name!r} has a name that is not free") for name in RESERVED),
]


def test_what_a_function_may_return_becomes_rows(tmp_path):
    for place, (result, expected) in enumerate(RESULTS):
        run = toy(lambda cell, rng, result=result: result, replicates=1).run(tmp_path / f"{place}")
        rows = run.read()
        assert run.count() == run.total == 2
        assert set(rows["status"]) <= {"ok"}
        rows = rows[rows["a"] == 1]
        assert rows["row"].tolist() == list(range(len(expected)))
        names = list(expected[0]) if expected else []
        assert [dict(zip(names, row, strict=True)) for row in rows[names].to_numpy()] == expected


def test_floats_are_kept_bit_for_bit(tmp_path):
    rows = rows_of(lambda cell, rng: [{"x": value} for value in FLOATS], tmp_path)
    assert rows["x"].to_numpy().tobytes() == np.array(FLOATS).tobytes()
    rows = rows_of(lambda cell, rng: float("nan"), tmp_path / "nan")
    assert rows["status"].tolist() == ["ok"]
    assert rows["value"].isna().all()


def test_what_a_function_may_not_return_is_a_failure_and_stops_nothing(tmp_path):
    cells = [{"a": place, "value": 0} for place in range(len(REFUSED))]
    rows = rows_of(lambda cell, rng: REFUSED[cell["a"]][0], tmp_path, [*cells, {"b": 1}])
    assert rows["status"].tolist() == ["failed"] * len(rows)
    for (_, kind, words), said in zip(REFUSED, rows["exception"], strict=False):
        assert said.startswith(kind)
        assert words in said
    assert rows["a"].tolist()[:-1] == [cell["a"] for cell in cells]


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


@pytest.mark.parametrize(
    "values",
    [
        [None, "text"],
        [1, "text", 2.0, True, None, 0.5],
        [True, 2],
        [True, None, False],
        [1, None, 0.5],
        [None, None],
        [-0.0, 1],
    ],
)
def test_columns_do_not_depend_on_the_chunks(tmp_path, values):
    """All replicates in one chunk, or a chunk for each, or some, or one by one and then joined."""
    cells = [{"a": place} for place in range(len(values))]
    sweep = toy(lambda cell, rng: {"x": values[cell["a"]]}, cells, 1)
    segments = [(name, 0, 1) for name in sweep.names]
    tables = []
    for size in (1, 2, len(values), "joined"):
        run = create_run(tmp_path / str(size), sweep)
        if size == "joined":
            chunks = [joined(list(map(run_chunk, job(sweep, *segments).one_by_one())))]
        else:
            starts = range(0, len(values), size)
            chunks = [run_chunk(job(sweep, *segments[first : first + size])) for first in starts]
        for chunk in chunks:
            run.write(chunk.table, chunk.segments, 0)
        tables.append(
            run.read().drop(columns="seconds").astype({"cell": str, "stream": str, "versions": str})
        )
    for table in tables[1:]:
        pd.testing.assert_frame_equal(tables[0], table, check_exact=True)


# --- the budget of a chunk ---


def test_a_chunk_whose_time_is_over_leaves_the_rest():
    sweep = toy(lambda cell, rng: rng.random(), replicates=9)
    segments = ("a=1", 2, 9), ("a=2", 0, 9)
    chunk = run_chunk(job(sweep, *segments, seconds=1e-9))
    assert list(map(astuple, chunk.segments)) == [("a=1", 2, 3)]
    assert chunk.table["replicate"].to_pylist() == [2]
    whole = run_chunk(job(sweep, *segments))
    assert tuple(map(astuple, whole.segments)) == segments
    assert whole.table["replicate"].to_pylist() == [*range(2, 9), *range(9)]
    assert whole.table["value"][0] == chunk.table["value"][0]


def test_replicates_one_by_one_are_those_of_their_chunk():
    def function(cell, rng):
        number = rng.integers(4)
        if number == 0:
            raise RuntimeError("zero")
        return [{f"of {number}": rng.random(), "both": int(number)}] * int(number - 1)

    every = job(toy(function, replicates=9), ("a=2", 3, 9), ("a=1", 0, 9))
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

    sweep = toy(function, replicates=1)
    chunk = run_chunk(job(sweep, ("a=1", 0, 1), ("a=2", 0, 1), timeout=0.04))
    assert chunk.table["exception"].to_pylist() == [None, "TimeoutError: longer than 0.04 s"]
    assert chunk.table["value"].to_pylist() == [1, None]
    assert chunk.failed == 1
