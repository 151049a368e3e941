"""Wall time without compiling: nested, and in other threads."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from linrep._lib import clock as module


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


def test_what_another_thread_compiles_is_no_part_of_it(clock):
    watch = module.Stopwatch()
    with ThreadPoolExecutor(1) as other:
        block = other.submit(lambda: module.account().compiling()).result()
        clock.seconds = 1.0
        other.submit(block.__enter__).result()
        clock.seconds = 3.0
        other.submit(block.__exit__, None, None, None).result()
    assert watch.seconds() == 3.0
