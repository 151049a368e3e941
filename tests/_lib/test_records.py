"""Recorded files: any change of one is noticed, and several are replaced together."""

import json

import pytest

from linrep._lib import atomic as files
from linrep._lib import records
from linrep._lib.records import Damaged, Foreign, Kind, content
from tests.tools import complaint

VALUES = {"a": [1, 2.5, None, "≥ é"], "b": {"c": "d\nx"}}


def pairs(values):
    if not isinstance(values, dict):
        raise ValueError("it is not an object")
    return values


KIND = Kind("pairs", "linrep pair --record", pairs)


@pytest.fixture
def path(tmp_path):
    KIND.write(tmp_path / "pairs.json", VALUES, {"pairs.bin": b"\0\1"})
    return tmp_path / "pairs.json"


def test_what_was_written_is_read(path):
    assert KIND.read(path) == content(path) == VALUES
    assert records.beside(path, ".bin") == b"\0\1"
    assert records.beside(path, ".other") is None
    assert json.loads(path.read_text("utf-8"))["content"] == VALUES
    text = path.read_text("utf-8")
    path.write_bytes(text.replace("\n", "\r\n").encode())  # as a checkout may have it
    assert KIND.read(path) == VALUES


def test_every_byte_that_is_changed_or_ends_it_is_noticed(path):
    before = path.read_bytes()
    for place, byte in enumerate(before):
        flipped = byte ^ 1 << place % 8
        path.write_bytes(before[:place] + bytes([flipped]) + before[place + 1 :])
        with pytest.raises(Damaged) as caught:
            KIND.read(path)
        assert not isinstance(caught.value, Foreign), path.read_bytes()
        path.write_bytes(before[:place])
        with complaint(Damaged, "pairs.json is damaged: it is not as it was written; "):
            KIND.read(path)


FOREIGN = "is no file that this version of linrep has recorded; once it is removed, linrep pair"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        *((text, Foreign, FOREIGN) for text in ("[]", "3", '{"id": 1}', "null")),
        *((text, Damaged, "is damaged") for text in ("[" * 100_000, '{"content": 1}', "NaN}")),
    ],
)
def test_whatever_stands_in_it_is_answered_in_a_line(path, text, kind, said):
    path.write_text(text)
    with complaint(kind, said):
        KIND.read(path)


def test_what_could_not_be_read_is_not_written(path):
    before = path.read_bytes()
    with complaint(ValueError, "not an object"):
        KIND.write(path, [1])
    with pytest.raises(ValueError, match="JSON"):
        KIND.write(path, {"a": float("nan")})
    assert path.read_bytes() == before


def test_of_another_kind_or_other_values_it_is_named(path):
    with complaint(Damaged, "pairs.json is no list, it is a pairs"):
        Kind("list", "", list).read(path)
    Kind("pairs", "", list).write(path, [1])
    with complaint(Damaged, "is not as this version of linrep writes it (it is not an object)"):
        KIND.read(path)


def test_files_that_belong_to_it_are_looked_at(path):
    other = path.with_suffix(".bin")
    KIND.check(path)
    other.write_bytes(b"\0\0")
    with complaint(Damaged, "pairs.bin, of pairs.json, is not what was written; "):
        KIND.check(path)
    other.unlink()
    with complaint(Damaged, "pairs.bin, of pairs.json, is not there; "):
        records.beside(path, ".bin")
    KIND.check(path.with_name("none.json"))


def test_a_warning_says_what_is_left_out(path):
    assert KIND.shown(path, {}) == VALUES
    assert KIND.shown(path.with_name("none.json"), {}) == {}
    path.write_text("{")
    with pytest.warns(records.Unread, match=r"pairs\.json is damaged: .*; nothing stands for it$"):
        assert KIND.shown(path, {"a": 0}, "nothing stands for it") == {"a": 0}


def test_a_file_that_is_replaced_is_read_anew(path):
    assert KIND.read(path) == VALUES
    KIND.write(path, {"a": 1}, {"pairs.bin": b"\2"})
    assert KIND.read(path) == {"a": 1}
    assert records.beside(path, ".bin") == b"\2"


class Killed(BaseException):
    """What ends a process at once: nothing is done after it."""


@pytest.mark.parametrize("steps", range(10))
def test_wherever_a_process_is_killed_the_old_or_the_new_files_are_read(path, steps, monkeypatch):
    """The files themselves are each the old or the new one, too; writing goes on with them."""
    left = [steps]

    def killing(function):
        def call(*arguments, **options):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return function(*arguments, **options)

        return call

    old = {name: path.with_suffix(name).read_bytes() for name in (".json", ".bin")}
    new = {".json": KIND.written({"a": 1}, {"pairs.bin": b"\2"}).encode(), ".bin": b"\2"}
    with monkeypatch.context() as patch:
        patch.setattr(files, "_remove", lambda path: None)
        for name in ("replace", "fsync"):
            patch.setattr(files.os, name, killing(getattr(files.os, name)))
        try:
            KIND.write(path, {"a": 1}, {"pairs.bin": b"\2"})
        except Killed:
            assert left[0] == 0
    records.forget()
    for name in old:
        assert path.with_suffix(name).read_bytes() in (old[name], new[name])
    assert (KIND.read(path), records.beside(path, ".bin")) in ((VALUES, b"\0\1"), ({"a": 1}, b"\2"))
    KIND.write(path, {"a": 2}, {"pairs.bin": b"\3"})
    assert (content(path), path.with_suffix(".bin").read_bytes()) == ({"a": 2}, b"\3")
    assert not [each for each in path.parent.iterdir() if each.name == ".replacing"]
