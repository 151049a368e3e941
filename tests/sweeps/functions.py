"""Functions that the tests sweep, where other processes can import them."""

import os
import signal
import sys
import time

import numpy as np

from linrep._lib.warning import RunWarning, warn
from linrep.sweeps import note, scratch


def normal(cell, rng):
    """One row with a little of everything."""
    return {
        "first": rng.random(),
        "second": rng.standard_normal(),
        "count": int(rng.integers(1000)),
        "kind": "even" if cell["a"] % 2 == 0 else "odd",
        "positive": bool(rng.random() > 0.5),
        "product": float(np.sum(rng.standard_normal((20, 20)) @ rng.standard_normal((20, 20)))),
    }


def uniform(cell, rng):
    """A number, which depends on nothing but the stream."""
    return rng.random()


def fragile(cell, rng):
    """Some rows; one of four fails."""
    value = rng.random()
    if value < 0.25:
        raise RuntimeError("too small")
    return [{"step": step, "value": value + step} for step in range(2)]


def walk(cell, rng):
    """Two rows that depend on every parameter and on the stream."""
    steps = rng.standard_normal(cell["steps"]) * cell["scale"]
    return [{"end": float(np.sum(steps[:cut])), "cut": cut} for cut in (1, cell["steps"])]


def slow_walk(cell, rng):
    """The same, in a few milliseconds."""
    time.sleep(0.003)
    return walk(cell, rng)


def noted(cell, rng):
    """A number; in some cells linrep has something to say of the runs, or fails after it had."""
    for kind in cell["kinds"].split():
        warn(f"{kind}: {rng.random()}", RunWarning, kind)
    if cell["fails"]:
        raise RuntimeError("too late")
    return rng.random()


POISONED = 4  # the replicate that does harm


def _is_poisoned(cell, rng):
    replicate = rng.bit_generator.seed_seq.spawn_key[0]
    return cell["a"] == 2 and replicate == POISONED


def ends_its_process(cell, rng):
    """A number, but for one replicate, which ends the process."""
    if _is_poisoned(cell, rng):
        os._exit(7)
    return rng.random()


def is_killed(cell, rng):
    """A number, but for one replicate, which the system kills, as where memory runs out."""
    if _is_poisoned(cell, rng):
        os.kill(os.getpid(), signal.SIGKILL)
    return rng.random()


def blocks(cell, rng):
    """A number, but for one replicate, which does not come to an end."""
    if _is_poisoned(cell, rng):
        time.sleep(1000.0)
    return rng.random()


def first_value(job):
    """Return the first value of a sealed job's first replicate."""
    from linrep.sweeps.workers import run_guarded

    return run_guarded(job).table["value"].to_pylist()[0]


def counted_down(cell, rng):
    """Wait for some tenths of a second, and go on from a file where an earlier call was."""
    begin = scratch("done")
    done = int(begin.read_text()) if begin is not None and begin.exists() else 0
    for step in range(done, int(cell["tenths"])):
        note(f"step {step}")
        time.sleep(0.1)
        if begin is not None:
            begin.write_text(str(step + 1))
    return {"value": rng.random(), "found": done}


def threads_of_openmp(cell, rng):
    """What libraries that are loaded later take for the number of threads."""
    return {"value": os.environ.get("OMP_NUM_THREADS", "")}


def process(cell, rng):
    """The process that computes it."""
    return {"value": os.getpid()}


def ends_any_worker(cell, rng):
    """A number, but for one cell, which ends every process; a file has the workers of Dask."""
    if cell["a"] == 2:
        if "distributed.worker" in sys.modules:
            with open(cell["log"], "a") as file:
                file.write("lost\n")
        os.kill(os.getpid(), signal.SIGKILL)
    return rng.random()
