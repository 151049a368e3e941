"""The benchmark of growth: every algorithm runs, and the exponents are those of the times."""

import numpy as np
import pytest

from linrep.bench import scaling


def test_exponents_are_those_of_the_last_decade():
    y = {10: 99.0, 100: 3.0e2, 300: 3.0e2 * 9.0, 1000: 3.0e4}
    assert scaling._exponent("time", "n", y) == "; time like n^2.00 [2.00, 2.00]"
    assert scaling._exponent("time", "n", {10: 1.0, 100: 2.0}) == ""


def test_memory_is_what_a_call_allocates():
    seconds, memory = scaling._call(lambda: np.zeros(2**17).sum(), 1)
    assert 2**20 <= memory < 1.1 * 2**20
    assert seconds > 0.0


@pytest.mark.parametrize("name", scaling.ALGORITHMS)
def test_every_algorithm_runs_along_its_axes(name, monkeypatch):
    axes, prepare = scaling.ALGORITHMS[name]
    monkeypatch.setattr(scaling, "MIDDLE", {"n": 12, "m": 6, "d": 12, "k": 2})
    for axis in axes:
        few, many = (2, 3) if axis == "k" else (10, 12)
        records = scaling._along(name, prepare, axis, [few, many], 1, np.inf)
        assert [record.contender for record in records] == [f"{axis} = {few}", f"{axis} = {many}"]
        assert all("MiB" in record.note for record in records)


def test_an_axis_ends_where_calls_take_long():
    _, prepare = scaling.ALGORITHMS["models alone"]
    records = scaling._along("models alone", prepare, "n", [20, 40, 80], 1, longest=0.0)
    assert [record.contender for record in records] == ["n = 20"]
