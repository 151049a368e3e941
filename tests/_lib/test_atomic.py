"""Files that are whole or not there, and locks that several processes share."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from linrep._lib import atomic as files

fcntl = pytest.importorskip("fcntl")


def test_what_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "numbers"
    files.write(path, b"before")
    with pytest.raises(TypeError), files.whole(path) as draft:
        draft.write_text(3)  # which opens it first
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["numbers"]


def test_a_file_is_created_once(tmp_path):
    path = tmp_path / "numbers"
    assert files.create(path, b"first")
    assert not files.create(path, b"second")
    assert path.read_bytes() == b"first"


def test_where_there_are_no_links_a_file_is_created_once_too(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: os.stat(tmp_path / "no"))
    test_a_file_is_created_once(tmp_path)


def test_of_threads_that_create_a_file_one_does(tmp_path):
    for place in range(20):
        path = tmp_path / f"{place}"
        with ThreadPoolExecutor(8) as pool:
            barrier = threading.Barrier(8)

            def attempt(number, path=path, barrier=barrier):
                barrier.wait()
                return files.create(path, f"{number}".encode())

            created = list(pool.map(attempt, range(8)))
        assert sum(created) == 1
        assert path.read_text() == f"{created.index(True)}"
    assert len(list(tmp_path.iterdir())) == 20


def test_threads_that_write_a_file_at_a_time_leave_one_of_theirs(tmp_path):
    contents = [f"{number}".encode() * 10_000 for number in range(8)]
    for _ in range(10):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda content: files.write(tmp_path / "numbers", content), contents))
        assert (tmp_path / "numbers").read_bytes() in contents
        assert [entry.name for entry in tmp_path.iterdir()] == ["numbers"]


def test_the_last_one_is_alone(tmp_path):
    lock = tmp_path / "deep" / "lock"
    with files.shared(lock) as first, files.shared(lock) as second:
        assert not first()  # and has given its share up
        assert second()
    with files.shared(lock) as only:
        assert only()


def test_who_waits_for_a_lock_that_is_removed_holds_the_new_one(tmp_path):
    lock = tmp_path / "lock"
    entered, leave = threading.Event(), threading.Event()

    def wait():
        with files.shared(lock):
            entered.set()
            leave.wait()

    waiting = threading.Thread(target=wait)
    with files.shared(lock) as alone:
        assert alone()
        waiting.start()
        assert not entered.wait(0.2)
        lock.unlink()
    try:
        assert entered.wait(60)
        with files.shared(lock) as later:
            assert not later()
    finally:
        leave.set()
        waiting.join()
