"""Wall time without compiling: nested, in threads that work for another, in others."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

import linrep as lr
from linrep._lib import clock as module
from linrep.algorithms import gram


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that is set by hand."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now.seconds))
    return now


def test_blocks_that_are_nested_count_once_and_one_that_goes_on_counts_up_to_now(clock):
    watch = module.Stopwatch()
    clock.seconds = 1.0
    with module.account().compiling():
        clock.seconds = 3.0
        with module.account().compiling():
            clock.seconds = 4.0
            assert watch.seconds() == 1.0
        clock.seconds = 6.0
    clock.seconds = 6.5
    assert watch.seconds() == 1.5


def test_a_watch_made_while_something_compiles_leaves_out_what_follows(clock):
    with module.account().compiling():
        clock.seconds = 2.0
        watch = module.Stopwatch()
        clock.seconds = 3.0
    clock.seconds = 3.25
    assert watch.seconds() == 0.25


@pytest.mark.parametrize(("initializer", "counted"), [(module.share, 2.0), (None, 5.0)])
def test_threads_that_work_for_this_one_share_its_account_and_no_others(
    clock, initializer, counted
):
    """Two threads compile, from 1 to 3 and from 2 to 4: three seconds in all."""
    watch = module.Stopwatch()
    own = () if initializer is None else (module.account(),)
    with (
        ThreadPoolExecutor(1, initializer=initializer, initargs=own) as one,
        ThreadPoolExecutor(1, initializer=initializer, initargs=own) as other,
    ):
        blocks = [
            pool.submit(lambda: module.account().compiling()).result() for pool in (one, other)
        ]
        for pool, block, at in ((one, 0, 1.0), (other, 1, 2.0)):
            clock.seconds = at
            pool.submit(blocks[block].__enter__).result()
        for pool, block, at in ((one, 0, 3.0), (other, 1, 4.0)):
            clock.seconds = at
            pool.submit(blocks[block].__exit__, None, None, None).result()
    clock.seconds = 5.0
    assert watch.seconds() == counted


@pytest.mark.slow
def test_what_threads_of_a_run_compile_is_no_part_of_its_time(clock, monkeypatch):
    """Groups of clients are played by threads, which are the first to call some kernels."""
    truth = lr.SharedRepresentation.random(n=6, d=5, k=2, rng=0)
    plays = gram.kernel.play

    def compiles(*arguments):
        with module.account().compiling():
            clock.seconds += 10.0
        clock.seconds += 1.0
        return plays(*arguments)

    monkeypatch.setattr(gram, "GROUP", 3)
    monkeypatch.setattr(gram.kernel, "play", compiles)
    trace = lr.fedrep(truth, m=4, rounds=2, batches="gram", rng=0, workers=2)
    assert trace.wall_time <= 4.0
