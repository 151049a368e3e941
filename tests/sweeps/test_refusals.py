"""What sweeps refuse: one line that names the argument, before anything is written."""

import sys

import numpy as np
import pandas as pd
import pytest

from linrep.sweeps import Grid, Sweep, load, merge, open_run, run, summarize, thresholds
from tests.sweeps.support import content, toy
from tests.tools import complaint

ROWS = pd.DataFrame({"n": [1, 1, 2], "m": [3, 3, 4], "value": [0.1, 0.2, 0.3], "status": "ok"})
RESERVED = (
    "cell", "replicate", "row", "status", "exception", "notes", "seconds", "stream", "versions",
)  # fmt: skip


def product(axes, **options):
    return lambda: Grid.product(axes, **options)


def sweep(**options):
    return lambda: toy(**options)


def swept(**options):
    return lambda: run(toy(), "run", **options)


def again(selection, replicate=0):
    return lambda: toy().only(selection, replicate)


def summary(*arguments, **options):
    return lambda: summarize(ROWS, *arguments, **options)


def named(text):
    return lambda: load(text)


#: A call, its exception, and words of that.
CALLS = [
    # cells
    (product({}), ValueError, "axes at least one"),
    (product({"a": []}), ValueError, "'a' empty"),
    (product({"a": [1, 2, 1]}), ValueError, "'a' 1 twice"),
    (product({"a": [10, 10.0]}), ValueError, "'a' 10 twice"),
    (product({"a": [0.0, -0.0]}), ValueError, "'a' twice"),
    (product({"a": float("nan")}), ValueError, "'a' finite nan"),
    (product({"a": [1, -np.inf]}), ValueError, "'a' finite -inf"),
    (product({"a": 2**63}), ValueError, "'a' float can hold"),
    (product({"a": 2**53 + 1}), ValueError, "'a' float can hold"),
    (product({"a": [1j]}), TypeError, "'a' complex"),
    (product({"a": [[1]]}), TypeError, "'a' list"),
    (product({"a": {"b": 1}}), TypeError, "'a' dict"),
    (product({"a b": 1}), ValueError, "identifier 'a b'"),
    (product({1: 1}), ValueError, "identifier 1"),
    (product({"a": [1]}, zipped=[("a", "q")]), ValueError, "zipped 'q' there are a"),
    (product({"a": [1]}, zipped=[("a",)]), ValueError, "zipped at least two"),
    (product({"a": [1], "b": [1]}, zipped=["ab"]), ValueError, "zipped 'ab'"),
    (product({"a": [1, 2], "b": [1]}, zipped=[["a", "b"]]), ValueError, "a 2, b 1"),
    (
        product({"a": [1], "b": [1], "c": [1]}, zipped=[("a", "b"), ("b", "c")]),
        ValueError,
        "'b' two groups",
    ),
    (product({"a": [1]}, derived={"a": "2"}), ValueError, "'a' axis already"),
    (product({"a": [1]}, derived={"b c": "2"}), ValueError, "identifier"),
    (product({"a": [1]}, derived={"b": "q + 1"}), ValueError, "'q + 1' q"),
    (product({"a": [1]}, derived={"b": "a +"}), ValueError, "'a +'"),
    (product({"a": [0]}, derived={"b": "1 / a"}), ValueError, "'b' finite"),
    (product({"a": [0]}, derived={"b": lambda cell: [1]}), TypeError, "'b' list"),
    (product({"a": [1]}, constraints=["q > 1"]), ValueError, "'q > 1' q"),
    (product({"a": [1]}, constraints={"a > 1": "none is"}), ValueError, "no cell none is"),
    (product({"a": [1]}, constraints=[lambda cell: False]), ValueError, "no cell lambda"),
    (lambda: Grid.of([]), ValueError, "at least one"),
    (lambda: Grid.of([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]), ValueError, "a=1,b=2 twice"),
    (lambda: Grid.of([{"a": 2}]) + Grid.of([{"a": 2.0}]), ValueError, "a=2 twice"),
    (lambda: Grid.of([["a", 1]]), TypeError, "mappings"),
    (lambda: Grid.around({"a": 1}, {}), ValueError, "axes at least one"),
    (lambda: Grid.around({"a": 1}, {"b": [1]}), ValueError, "axes middle 'b'"),
    # sweeps
    (sweep(function=3), TypeError, "function int"),
    (sweep(replicates=0), ValueError, "replicates at least 1"),
    (sweep(replicates=2.0), TypeError, "replicates 2.0"),
    (sweep(replicates=True), TypeError, "replicates True"),
    (sweep(seed=-1), ValueError, "seed -1"),
    (sweep(paired="q"), ValueError, "paired 'q' there are a"),
    (sweep(streams={"x": ["q"]}), ValueError, "streams['x'] 'q'"),
    (sweep(streams={}), ValueError, "streams at least one"),
    (sweep(streams={"x": []}, paired="a"), ValueError, "paired and streams"),
    (sweep(settings={"q": float("inf")}), ValueError, "settings finite"),
    (sweep(settings={"q": object()}), TypeError, "settings object"),
    (lambda: Sweep(lambda cell, rng: 1, [{"a": 1}], 1), ValueError, "name must be given"),
    *((sweep(cells=[{"a": 1, name: 1}]), ValueError, f"{name!r} column") for name in RESERVED),
    # runs
    (swept(workers=0), ValueError, "workers at least 1"),
    (swept(workers=1.5), TypeError, "workers 1.5"),
    (swept(chunk_seconds=0), ValueError, "chunk_seconds greater than 0"),
    (swept(chunk_seconds=float("nan")), ValueError, "chunk_seconds finite"),
    (swept(timeout=0.0), ValueError, "timeout"),
    (swept(timeout="soon"), TypeError, "timeout"),
    (swept(grace=-1.0), ValueError, "grace"),
    (swept(shard=(0, 2)), ValueError, "shard i between 1 and 2 0"),
    (swept(shard=(3, 2)), ValueError, "shard i between 1 and 2 3"),
    (swept(shard=(1, 0)), ValueError, "shard N at least 1 0"),
    (swept(shard=(1.0, 2)), TypeError, "shard i 1.0"),
    (swept(shard=(1,)), ValueError, "shard pair"),
    (swept(shard="12"), TypeError, "shard tuple str"),
    (lambda: open_run("nowhere"), ValueError, "nowhere not a run directory"),
    (lambda: merge("all", []), ValueError, "sources at least one"),
    (lambda: merge("all", ["nowhere"]), ValueError, "nowhere not a run directory"),
    # one replicate
    (again({"a": 9}), ValueError, "selection a=9"),
    (again({}), ValueError, "selection 2 cells"),
    (again({"a": 1}, 3), ValueError, "replicate between 0 and 2 3"),
    (again({"a": 1}, -1), ValueError, "replicate -1"),
    (again({"a": 1}, 1.0), TypeError, "replicate 1.0"),
    # summaries
    (summary("value", ["n", "n"]), ValueError, "by 'n' twice"),
    (summary("value", ["q"]), ValueError, "no column 'q' n, m, value"),
    (summary("valeu", ["n"]), ValueError, "cannot evaluate 'valeu'"),
    (summary("value <", ["n"]), ValueError, "cannot evaluate 'value <'"),
    (summary("value", ["n"], statistic="mode"), ValueError, "statistic 'mean' 'mode'"),
    (summary("value", ["n"], statistic="success"), ValueError, "'value' true or false"),
    (lambda: thresholds(ROWS[:2], "value > 0", "m", "n"), ValueError, "at least two different"),
    # functions by name
    (named(""), ValueError, "module:name ''"),
    (named("functions"), ValueError, "module:name 'functions'"),
    (named(":f"), ValueError, "module:name"),
    (named("module:"), ValueError, "module:name"),
    (named("nowhere.py:f"), ValueError, "no such file nowhere.py"),
    (named("nowhere:f"), ValueError, "no module 'nowhere'"),
    (named("tests.nowhere:f"), ValueError, "no module 'tests.nowhere'"),
    (named("math:nothing"), ValueError, "math no function nothing"),
    (named("math:pi"), ValueError, "math no function pi"),
    (named("needy:f"), ValueError, "needy needs the module q_missing"),
    (named("broken.py:f"), ValueError, "broken.py cannot be loaded SyntaxError"),
    (named("raising:f"), ValueError, "RuntimeError: two lines (raising.py, line 1)"),
    (named("leaving.py:f"), ValueError, "leaving.py cannot be loaded SystemExit"),
    (named(".relative:f"), ValueError, "relative"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of files that cannot be loaded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "needy.py").write_text("import q_missing\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "raising.py").write_text("raise RuntimeError('two\\nlines')\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit(0)\n")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_what_cannot_be_is_refused_in_one_line_and_nothing_written(folder):
    before = content(folder)
    for place, (call, kind, words) in enumerate(CALLS):
        try:
            with complaint(kind, *words.split()):
                call()
        except (Exception, pytest.fail.Exception) as error:
            raise AssertionError(f"call {place}: {kind.__name__}, {words}") from error
        before |= {name: text for name, text in content(folder).items() if "__pycache__" in name}
    assert content(folder) == before
