"""What comes one by one is written several at a time, and all of it whatever ends the work."""

import threading
import time
from types import SimpleNamespace

import pytest

from linrep._lib import batches
from linrep._lib.batches import Batches


def test_what_has_come_is_written_while_the_caller_is_at_something_else():
    written = threading.Event()
    with Batches(lambda items: written.set()) as found:
        found.add("a", 1)
        assert written.wait(60.0)


def test_writing_takes_a_tenth_of_the_time(monkeypatch):
    now, pauses, written = [0.0], [], []

    class Timer:
        """Goes off at once, and notes after which pause it was to."""

        def __init__(self, pause, function):
            pauses.append(pause)
            self.start = threading.Thread(target=function).start
            self.cancel = int

    def write(items):
        now[0] += 2.0
        written.append(list(items))

    monkeypatch.setattr(batches, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(batches, "threading", SimpleNamespace(Lock=threading.Lock, Timer=Timer))
    with Batches(write) as found:
        for name in range(4):
            found.add(name, None)
            while name not in found.written:
                time.sleep(0.001)
    assert written == [[0], [1], [2], [3]]
    assert pauses == [0.0, 20.0, 20.0, 20.0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_whatever_ends_the_work_all_is_written(error):
    written = {}
    found = Batches(written.update)

    def work():
        with found:
            for name in "abc":
                found.add(name, name)
            raise error

    with pytest.raises(error):
        work()
    assert written == {"a": "a", "b": "b", "c": "c"}
    assert found.written == set("abc")


def test_what_could_not_be_written_is_tried_again_and_said_at_the_end():
    tried = threading.Event()

    def write(items):
        tried.set()
        raise OSError("no space left")

    def work():
        with Batches(write) as found:
            found.add("a", 1)
            assert tried.wait(60.0)

    with pytest.raises(OSError, match="no space"):
        work()


def test_one_that_is_refused_keeps_no_other_from_being_written():
    written = {}

    def write(items):
        if "b" in items:
            raise ValueError("b is refused")
        written.update(items)

    def work():
        with Batches(write) as found:
            for name in "abc":
                found.add(name, name)

    with pytest.raises(ValueError, match="b is refused"):
        work()
    assert written == {"a": "a", "c": "c"}
