"""The portable mode: what makes it up, who is in it, and that it gives the same bits."""

import json
import os
import subprocess
import sys

import pytest

from linrep._lib import portable
from tests.tools import COMPILED

here = pytest.mark.skipif(not portable.available(), reason=f"{portable.reason()}")

BITS = """
import sys
from linrep._lib import portable
if "enter" in sys.argv:
    portable.enter()
import hashlib, json
import numpy as np
from linrep.kernels import linalg

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    A, v = rng.standard_normal((200, 200)), rng.standard_normal(1001)
    values = [linalg.dot(v, v), *(A @ A)[0], *np.exp(v), *np.log(abs(v)), v.sum()]
    worker = None
    if "worker" in sys.argv:
        from linrep.sweeps.workers import WorkerPool

        with WorkerPool(1) as pool:
            worker = pool.submit(portable.mode).result()
    digest = hashlib.sha256(np.array(values).tobytes()).hexdigest()
    print(json.dumps([portable.mode(), worker, digest, sys.argv[1:]]))
"""


def run(path, *arguments, **variables):
    path.write_text(BITS)
    done = subprocess.run(
        [sys.executable, "-W", "error", path, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    # On a busy machine compiling takes longer than the second after which that is said.
    assert (
        done.stderr.replace("compiling kernels that are called for the first time ...\n", "") == ""
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@here
@pytest.mark.skipif(not COMPILED, reason="compares compiled kernels")
def test_bits_are_those_of_any_processor_in_the_mode_only(tmp_path):
    """An old processor is what the variables of the libraries can make of this one."""
    script = tmp_path / "bits.py"
    old = {
        "NUMBA_CPU_NAME": "nehalem",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Nehalem",
        "OPENBLAS_NUM_THREADS": "2",
    }
    here, there, native = (
        run(script, "enter", "a b", "--c"),
        run(script, "enter", "worker", **old),
        run(script, "stay", **old),
    )
    assert (here[0], *there[:2]) == ("portable", "portable", "portable")
    assert here[3] == ["enter", "a b", "--c"]
    assert here[2] == there[2]
    assert native[0] == "native"
    assert native[2] != here[2]


@here
def test_variables_that_are_set_too_late_make_no_mode():
    script = (
        "import numba, numpy, scipy.linalg, os\n"
        "from linrep._lib import portable\n"
        "os.environ.update(portable.environment())\n"
        "print(portable.mode())"
    )
    native = {key: value for key, value in os.environ.items() if key not in portable.VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", script], env=native, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("native\n", "")


def test_without_the_instructions_nothing_is_started(monkeypatch):
    import llvmlite.binding

    def never(*arguments):
        raise AssertionError("started")

    monkeypatch.setattr(os, "execve", never)
    found = {**dict.fromkeys(portable._REQUIRED, True), "avx2": False, "bmi2": False}
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: found)
    monkeypatch.setattr(portable.platform, "machine", lambda: "x86_64")
    assert portable.reason() == "this processor lacks avx2, bmi2"
    assert portable.mode() == "native"
    portable.enter()
    monkeypatch.setattr(portable.platform, "machine", lambda: "arm64")
    assert portable.reason() == "this is arm64, not x86-64"
    portable.enter()


@pytest.mark.parametrize(
    ("dispatched", "enabled", "expected"),
    [
        (  # NumPy 2.4
            ["X86_V3", "X86_V4", "AVX512_ICL", "AVX512_SPR"],
            ["AVX2", "X86_V3", "AVX512F", "X86_V4", "AVX512_ICL", "VAES"],
            ["X86_V4", "AVX512_ICL"],
        ),
        (  # NumPy 1.26
            ["SSE42", "AVX2", "FMA3", "AVX512F", "AVX512CD", "AVX512_KNL", "AVX512_SKX"],
            ["SSE42", "AVX2", "FMA3", "AVX512F", "AVX512CD", "AVX512_SKX"],
            ["AVX512F", "AVX512CD", "AVX512_SKX"],
        ),
        (["AVX2", "FMA3"], ["AVX2", "FMA3"], []),
    ],
)
def test_numpy_is_kept_from_what_it_has_loops_for(dispatched, enabled, expected):
    assert portable._beyond(dispatched, dict.fromkeys(enabled, True)) == expected


@pytest.mark.parametrize(
    ("libraries", "expected"),
    [
        ([("openblas", "Haswell", 1)] * 2, True),
        ([("openblas", "Haswell", 1), ("openblas", "Zen", 1)], False),
        ([("openblas", "Haswell", 2)], False),
        ([("openblas", "Haswell", 1), ("mkl", None, 1)], False),
        ([], False),
    ],
)
def test_linear_algebra_is_pinned_openblas_or_the_mode_is_another(monkeypatch, libraries, expected):
    import threadpoolctl

    found = [
        {"user_api": "blas", "internal_api": name, "num_threads": threads, "architecture": kernel}
        for name, kernel, threads in libraries
    ]
    others = [{"user_api": "openmp", "internal_api": "openmp", "num_threads": 8}]
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: found + others)
    numba = type("numba", (), {"config": type("config", (), {
        "CPU_NAME": portable.LEVEL, "CPU_FEATURES": "", "DISABLE_INTEL_SVML": 1, "DISABLE_JIT": 0,
    })})  # fmt: skip
    monkeypatch.setitem(sys.modules, "numba", numba)
    assert portable._is_pinned() is expected


def test_what_somebody_disabled_within_the_level_is_noticed():
    assert portable._find_lacking(["AVX2", "X86_V4"], {"AVX2": False}) == ["AVX2"]
    assert portable._find_lacking(["AVX2", "X86_V4"], {"AVX2": True}) == []


@here
def test_a_process_is_started_in_the_mode_once(tmp_path):
    """Another variable, set again in every process, keeps it from the mode."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['OMP_NUM_THREADS'] = '2'\n")
    found = run(tmp_path / "bits.py", "enter", PYTHONPATH=str(tmp_path))
    assert found[0] == "native"
