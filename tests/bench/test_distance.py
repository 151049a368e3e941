"""The benchmark of the distance: its reference is exact, and what it prints is measured."""

import numpy as np
import pytest

from linrep.bench import distance, timing


@pytest.mark.parametrize("sine", [1.0, 1e-3, 1e-12])
def test_extended_distance_is_exact_on_coordinate_axes(sine):
    B1 = np.eye(5, 2) @ [[2.0, 1.0], [0.0, 1.0]]
    B2 = np.eye(5, 2)
    B2[0, 0], B2[3, 0] = np.sqrt((1.0 - sine) * (1.0 + sine)), sine
    assert distance.extended_distance(B1, B2) == pytest.approx(sine, rel=1e-14)
    assert distance.extended_distance(B1, B1) < 1e-15


def test_both_contenders_are_measured(monkeypatch):
    monkeypatch.setattr(timing, "_SETTLE", 0.0)
    (records,) = distance.measure(repetitions=2)
    assert [record.contender for record in records] == ["linrep", "SciPy"]
    if np.finfo(np.longdouble).eps < 1e-18:
        assert all("relative error" in record.note for record in records)
