"""The disk cache must not outlive the sources it was compiled from, whichever file was edited."""

import gc
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from importlib import import_module
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import _dispatcher
from numba.core.errors import NumbaError

import linrep as lr
from linrep.kernels import _numba as private
from linrep.kernels import designs, jit
from tests.tools import COMPILED

SOURCES = Path(jit.__file__).parent
MODULES = sorted(path.stem for path in SOURCES.glob("*.py") if path.stem != "__init__")

compiled_only = pytest.mark.skipif(not COMPILED, reason="nothing is compiled or cached")


def named_tuples():
    """Yield the classes that hand groups of arguments to kernels."""
    for name in MODULES:
        module = import_module(f"linrep.kernels.{name}")
        for value in vars(module).values():
            if hasattr(value, "_fields") and value.__module__ == module.__name__:
                yield value


def test_types_of_named_tuples_are_told_apart():
    """The machine code is chosen by a text; numba before 0.61 forgets the first 40 bytes of it."""
    classes = list(named_tuples())
    assert len({(each.__name__, each._fields) for each in classes}) == len(classes)
    texts = set()
    for each in classes:
        for dtype in (np.float32, np.float64):
            first, *others = each._fields
            values = {first: np.ones(2, dtype)} | dict.fromkeys(others, np.ones(2))
            texts.add(_dispatcher.compute_fingerprint(each(**values)))
    assert len(texts) == 2 * len(classes)
    assert all(text.startswith(tuple(each.__name__.encode() for each in classes)) for text in texts)


@compiled_only
def test_a_named_tuple_with_other_fields_is_another_key(tmp_path):
    """Its class may be of a module that the kernel's own does not import."""
    cache, codegen = private._Cache(viewing), jit.kernel(viewing).targetctx.codegen()
    one, other = (namedtuple("Both", fields) for fields in ("x y", "y x"))
    kinds = [numba.types.NamedTuple([numba.float64] * 2, each) for each in (one, other)]
    kinds[1].instance_class = one  # as another process finds it, once its source is edited
    assert kinds[0] == kinds[1]
    assert len({cache._index_key((kind,), codegen) for kind in kinds}) == 2


@pytest.mark.slow
@compiled_only
def test_an_edit_recompiles_the_callers_of_a_kernel(tmp_path):
    """A second version, beside the first and with the same cache, has kernels of its own."""
    sources = {
        "inner": "@kernel\ndef inner(x):\n    return x + 1\n",
        "outer": "from linrep.kernels.inner import inner\n"
        "@kernel\ndef outer(x):\n    return inner(x)\n",
        "beside": "@kernel\ndef beside(x):\n    return x + 5\n",
    }
    script = (
        "from linrep.kernels.outer import inner, outer\nfrom linrep.kernels.beside import beside\n"
        "for each in (inner, outer, beside): print(each(1), sum(each.stats.cache_hits.values()))"
    )

    def run(version, **edited):
        for name, source in {**sources, **edited}.items():
            path = tmp_path / version / "linrep" / "kernels" / f"{name}.py"
            path.write_text("from linrep.kernels.jit import kernel\n" + source)
        environment = {"PYTHONPATH": str(tmp_path / version), "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", script], env=os.environ | environment | UNWRITTEN,
            cwd=tmp_path / version, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]

    for version in ("one", "two"):
        bare_package(tmp_path / version)
    assert run("one") == [(2, 0), (2, 0), (6, 0)]
    assert run("one") == [(2, 1), (2, 1), (6, 1)]
    leaf = {"inner": sources["inner"].replace("1", "20")}
    assert run("two", **leaf) == [(21, 0), (21, 0), (6, 0)]
    assert run("one", **leaf) == [(21, 0), (21, 0), (6, 0)]
    assert run("two", **leaf) == [(21, 1), (21, 1), (6, 1)]


UNWRITTEN = {"PYTHONDONTWRITEBYTECODE": "1"}


def bare_package(folder):
    """Make a package of what compiles kernels, and return the folder for kernels."""
    package = folder / "linrep" / "kernels"
    package.mkdir(parents=True)
    for each in (package, package.parent):
        (each / "__init__.py").touch()
    for name in ("jit.py", "_numba.py"):
        shutil.copy(SOURCES / name, package)
    shutil.copytree(SOURCES.parent / "_lib", package.parent / "_lib")
    return package


def small_package(folder):
    """Make a package of one kernel; return a function that calls it in a process of its own."""
    (bare_package(folder) / "twice.py").write_text(
        "from linrep.kernels.jit import kernel\n\n@kernel\ndef twice(x):\n    return x + x\n"
    )

    def call(argument, before="", **variables):
        script = (
            f"{before}\nfrom linrep.kernels.twice import twice\nprint(twice({argument}), "
            "sum(twice.stats.cache_hits.values()))"
        )
        environment = {
            **os.environ, "PYTHONPATH": str(folder), **UNWRITTEN, **variables
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, "-W", "always", "-c", script],
            env=environment, cwd=folder, capture_output=True, text=True, check=True,
        )  # fmt: skip

    return call


@compiled_only
def test_where_nothing_can_be_kept_kernels_are_compiled_and_one_line_says_so(tmp_path):
    call = small_package(tmp_path)
    (tmp_path / "linrep" / "kernels" / "__pycache__").touch()  # a file in place of the folder
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    nowhere["NUMBA_CACHE_DIR"] = "/proc/nowhere"
    done = call(1, **nowhere)
    assert done.stdout.split() == ["2", "0"]
    assert done.stderr.count("compiled kernels are not kept") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr


@compiled_only
@pytest.mark.slow
def test_a_damaged_cache_is_replaced(tmp_path):
    call = small_package(tmp_path)
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert call(1, **kept).stdout.split() == ["2", "0"]
    for kind in ("nbc", "nbi"):
        (file,) = (tmp_path / "cache").rglob(f"*.{kind}")
        file.write_bytes(file.read_bytes()[:-9])
        assert call(1, **kept).stdout.split() == ["2", "0"]
    assert call(1, **kept).stdout.split() == ["2", "1"]


@compiled_only
def test_processes_that_compile_at_the_same_time_never_write_to_one_file(tmp_path):
    """Neither knows of the other's entry when it names the file of its own."""
    names = []
    for key, stamp in (("one", "a"), ("two", "a"), ("one", "b"), ("one", "a")):
        entries = private._Entries(str(tmp_path), "f", stamp)
        entries._load_index = dict
        entries.save(key, key)
        names.append({path.name for path in tmp_path.glob("f.*.nbc")})
    assert [len(name) for name in names] == [1] * 4  # those of no index are removed
    assert len(names[0] | names[1] | names[2]) == 3
    assert names[3] == names[0]
    assert private._Entries(str(tmp_path), "f", "a").load("one") == "one"


COLD_AND_WARM = """
import hashlib
import linrep as lr

truth = lr.SharedRepresentation.random(n=8, d=12, k=3, rng=0)
found = hashlib.sha256()
for m in (2, 5, 13):
    found.update(lr.local_only(truth.draw(m, rng=1)).state["theta"].tobytes())
print(found.hexdigest())
"""


@compiled_only
@pytest.mark.slow
def test_a_process_that_compiles_finds_the_same_bits_as_one_that_loads_the_cache(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run(
            [sys.executable, "-c", COLD_AND_WARM],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbc"))
    assert found[0] == found[1]


def allocating(x):
    return np.zeros(x.shape[0]) + x


def also_allocating(x):
    return np.zeros(x.shape[0]) + x


@compiled_only
def test_a_kernel_that_creates_an_array_must_say_so():
    x = np.arange(3.0)
    with pytest.raises(NumbaError):
        jit.kernel(allocating)(x)
    # Of another name, as the cache knows functions by theirs.
    np.testing.assert_array_equal(jit.kernel(counted=True)(also_allocating)(x), x)


def viewing(x, y):
    part = x[1:]
    for place in range(part.shape[0]):
        y[place] = part[place]


def test_views_without_reference_counts_leave_those_of_the_arguments_alone():
    x, y = np.arange(1000.0), np.zeros(999)
    viewed = jit.kernel(viewing)
    viewed(x, y)
    before = sys.getrefcount(x), sys.getrefcount(y)
    for _ in range(100):
        viewed(x, y)
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before
    np.testing.assert_array_equal(y, x[1:])


@pytest.mark.parametrize("batches", ["fresh", "split", "gram"])
def test_generators_handed_to_kernels_are_released(batches):
    """A Generator that numba took a reference to and nobody gives back would never be freed."""
    truth = lr.SharedRepresentation.random(n=3, d=4, k=2, rng=0)
    made, freed = [], []

    class Watched(np.random.Generator):
        def __init__(self, bits):
            super().__init__(bits)
            made.append(True)

        def __del__(self):
            freed.append(True)

    def run():
        rng = Watched(np.random.PCG64(0))
        designs.draw_covariates(rng, designs.GAUSSIAN, 5.0, np.empty((2, 3)))
        designs.draw_participants(rng, np.arange(3), np.empty((1, 2), np.int64))
        lr.fedrep(truth, m=3, rounds=1, batches=batches, start=0.5, rng=rng)

    run()
    gc.collect()
    assert len(freed) == len(made) >= 4  # the children of three purposes, too


COMPILES = """
import time
import linrep as lr

truth = lr.SharedRepresentation.random(n=8, d=12, k=3, rng=0)
began = time.perf_counter()
trace = lr.fedrep(truth, m=5, rounds=2, rng=1)
print(time.perf_counter() - began, trace.wall_time)
"""


@compiled_only
@pytest.mark.slow
def test_compiling_is_announced_once_and_is_no_part_of_a_runs_time(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COMPILES]
    cold, warm = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert cold.stderr.count("compiling kernels") == 1
    assert "compiling" not in warm.stderr
    waited, counted = map(float, cold.stdout.split())
    assert waited > 1.0
    assert counted < 0.5 * waited


@jit.kernel
def shifted(x):
    total = 0.0
    for index in range(x.shape[0]):
        total += x[index]
    return total


@jit.kernel
def caller(x, out):
    for row in range(x.shape[0]):
        out[row] = shifted(x[row])


@compiled_only
def test_a_kernel_called_by_kernels_alone_is_no_entry_point():
    out = np.empty(3)
    caller(np.ones((3, 4)), out)
    np.testing.assert_array_equal(out, [4.0, 4.0, 4.0])
    assert not shifted.signatures
    assert shifted(np.ones(5)) == 5.0
