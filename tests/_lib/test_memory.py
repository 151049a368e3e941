"""Sizes that cannot fit are refused with an estimate, and so is what nobody can mean."""

import os
import tracemalloc

import numpy as np
import pytest

import linrep as lr
from linrep._lib import memory
from linrep.problems import LowRankRegression, SideInformationCompletion
from linrep.problems.subspace import random_frame
from linrep.simulation import simulate, sweep
from tests.tools import complaint

GIB = 2**30
REGRESSION = {"algorithm": "fedrep", "n": 4, "d": 6, "k": 2, "m": 5, "rounds": 3}
COMPLETION = {"algorithm": "perfedsi", "n": 5, "d": 6, "p": 3, "k": 2, "step_size": 0.1}


@pytest.fixture
def one_gib(monkeypatch):
    """A machine that has one GiB left."""
    monkeypatch.setattr(memory, "free", lambda: float(GIB))


def test_what_is_free_is_known_and_no_more_than_the_machine_has():
    assert 0 < memory.free() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_a_container_leaves_its_limit_less_what_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    machine = memory._of_machine()
    assert memory._of_container() == np.inf  # there is none
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 200\n")
    for text, left in (("1000\n", 500.0), ("max\n", np.inf)):
        (tmp_path / "memory.max").write_text(text)
        assert memory._of_container() == left
        assert memory.free() == pytest.approx(min(machine, left), rel=0.5)


def test_a_refusal_says_what_is_needed_what_is_free_and_what_to_change(one_gib):
    memory.require("the samples", GIB // 8, n=1)
    with complaint(
        ValueError,
        "n = 100, m = 1000, d = 1000000 needs about 745 GiB for the samples, about 1 GiB are free: "
        "take smaller n, m or d",
    ):
        memory.require("the samples", 745 * GIB // 8, n=100, m=1000, d=10**6)
    with complaint(ValueError, "over 1000 EiB"):
        memory.require("the samples", 10**400, n=1)


def truth(**sizes):
    return lr.SharedRepresentation.random(**({"n": 3, "d": 4, "k": 2, "rng": 0} | sizes))


def entries():
    return SideInformationCompletion.random(n=5, d=6, p=3, k=1, rng=0).observe(entries=20, rng=1)


MANY = 10**9
#: What is drawn, observed or recorded, with what asks for it.
TOO_LARGE = {
    "representation, n": (lambda: truth(n=MANY), "n = "),
    "representation, d": (lambda: truth(d=MANY), "d = "),
    "implicit": (lambda: truth(n=MANY, store=False), "n = "),
    "frame": (lambda: random_frame(MANY, 1), "d = "),
    "models": (lambda: LowRankRegression.random(n=10**5, d=10**4), "n = "),
    "samples": (lambda: truth().draw(MANY), "m = "),
    "samples beyond 64 bits": (lambda: truth().draw(10**30), "m = "),
    "ragged samples": (lambda: truth().draw(np.array([1, 2**62, 2**62])), "m = up to"),
    "completion": (lambda: SideInformationCompletion.random(n=10, d=MANY, p=2, k=1), "d = "),
    "entries": (
        lambda: SideInformationCompletion.random(n=10**5, d=10**5, p=2, k=1).observe(entries=MANY),
        "entries = ",
    ),
    "per client": (
        lambda: SideInformationCompletion.random(n=10**5, d=10**5, p=2, k=1).observe(10**5),
        "per_client = ",
    ),
    "record": (lambda: lr.flute(truth(), m=5, rounds=MANY, step_size=0.1), "record = 1"),
    "start": (lambda: lr.random_start(2**40, 3, 2), "n = "),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_sizes_that_cannot_fit_are_refused_before_anything_is_made(name, one_gib):
    call, word = TOO_LARGE[name]
    tracemalloc.start()
    try:
        with complaint(ValueError, word, "GiB are free: take"):
            call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < GIB / 4


REFUSED = {
    "noise": (REGRESSION | {"noise": 1e300}, "noise must be at most 1e+30"),
    "noise, low rank": (
        REGRESSION | {"algorithm": "flute", "step_size": 0.1, "models": "normal", "noise": 1e300},
        "noise must be at most 1e+30",
    ),
    "noise, completion": (COMPLETION | {"noise": 1e300}, "noise must be at most 1e+30"),
    "condition": (REGRESSION | {"condition": 1e300}, "condition must be at most 1e+30"),
    "kappa": (COMPLETION | {"kappa": 1e300}, "kappa must be at most 1e+30"),
    "rank of a matrix": (COMPLETION | {"k": MANY}, "k must be between 1 and 3"),
    "rounds": (REGRESSION | {"rounds": 10**12}, "rounds must be at most 100000000000"),
    "step size": (REGRESSION | {"step_size": np.inf}, "step_size must be finite"),
    "local steps": (REGRESSION | {"local_steps": 10**12}, "local_steps must be at most "),
    "m": (
        REGRESSION | {"batches": "gram", "m": 10**30, "start": "random"},
        "m must be at most 9007199254740992",
    ),
    "d": (
        REGRESSION | {"batches": "gram", "d": 10**30, "start": 0.5, "store": False},
        "d must be at most 9007199254740992",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_can_mean_is_refused_with_what_is_allowed(name):
    cell, message = REFUSED[name]
    with complaint(ValueError, message):
        simulate(cell, np.random.default_rng(0))


def test_a_sweep_says_in_its_rows_which_cells_cannot_fit(tmp_path, one_gib):
    cells = {"n": [4, MANY], "d": 6, "k": 2, "m": 5, "rounds": 2, "noise": [0.0, 1e300]}
    frame = sweep("fedrep", cells, replicates=1).run(tmp_path / "run", workers=1).read()
    assert list(frame[frame["status"] == "ok"][["n", "noise"]].itertuples(index=False)) == [(4, 0)]
    reasons = frame.set_index(["n", "noise"])["exception"]
    assert "44.7 GiB" in reasons[MANY, 0.0]
    assert "noise must be at most" in reasons[4, 1e300]
