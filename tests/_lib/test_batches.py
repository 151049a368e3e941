"""What comes one by one is written several at a time, and all of it whatever ends the work."""

import threading
import time

import pytest

from linrep._lib.batches import Batches


def test_what_has_come_is_written_while_the_caller_is_at_something_else():
    written = threading.Event()
    with Batches(lambda items: written.set()) as found:
        found.add("a", 1)
        assert written.wait(60.0)


def test_writing_takes_a_tenth_of_the_time():
    written = []

    def write(items):
        time.sleep(0.05)
        written.append(list(items))

    began = time.monotonic()
    with Batches(write) as found:
        for name in range(60):
            found.add(name, None)
            time.sleep(0.02)
    assert [name for batch in written for name in batch] == list(range(60))
    assert 2 <= len(written) <= 3 + (time.monotonic() - began) / 0.5


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
