"""Instances read off real numbers: what is read is counted, and reaches its ends."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.claims import Budget, decide
from linrep.claims.search import Reader, search_instances
from linrep.problems import SharedRepresentation
from tests.tools import complaint

NUMBERS = st.floats(-1e3, 1e3)


class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray


def pair(reader, shape):
    return Pair(reader.numbers(shape["n"]), reader.numbers(shape["n"]))


def sides(at, factor):
    return abs(at.a @ at.b), factor * np.linalg.norm(at.a) * np.linalg.norm(at.b)


@pytest.mark.parametrize(("factor", "verdict"), [(0.9, "fails"), (1.0, "holds")])
def test_the_parts_of_an_instance_are_named(factor, verdict, fresh_rng):
    found = search_instances(
        lambda at: sides(at, factor), [{"n": 1}, {"n": 2}], pair, Budget("quick"), fresh_rng
    )
    assert decide(found).verdict == verdict
    for instance in filter(None, (found.worst, found.instance)):
        assert set(instance) >= {"n", "a", "b"}
        assert len(instance["a"]) == len(instance["b"]) == instance["n"]


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_number_between_two_lies_there(x, low, width):
    high = low + abs(width)
    got = Reader(np.array([x])).between(low, high)
    assert low - 1e-9 <= got <= high + 1e-9


def test_ends_are_reached_and_numbers_counted():
    assert [Reader(np.array([float(x)])).share() for x in (0, 1, 2)] == [1.0, 0.0, 1.0]
    reader = Reader()
    assert reader.numbers(2, 3).shape == (2, 3)
    assert reader.number() == 1.0
    assert reader.frame(4, 2).shape == (4, 2)
    assert reader.count == 15
    frame = Reader(np.random.default_rng(0).standard_normal(8)).frame(4, 2)
    np.testing.assert_allclose(frame.T @ frame, np.eye(2), atol=1e-14)


def test_what_is_none_is_left_out():
    def positive(reader, shape):
        x = reader.number()
        return x if x > 0 else None

    found = search_instances(
        lambda x: (x, 2 * x), [{}], positive, Budget("quick"), np.random.default_rng(0)
    )
    assert decide(found).verdict == "holds"


def test_arrays_are_drawn_by_name():
    def norms(A, x, c):
        assert isinstance(c, float)
        assert A.shape == (len(x), 2)
        return np.linalg.norm(A.T @ x), 0.9 * np.linalg.norm(A, 2) * np.linalg.norm(x)

    arrays = {"A": ("d", 2), "x": ("d",), "c": ()}
    found = decide(
        search_instances(norms, [{"d": 3}], arrays, Budget("quick"), np.random.default_rng(0))
    )
    example = found.counterexample
    assert list(example) == ["d", "A", "x", "c", "left", "right"]
    assert norms(np.array(example["A"]), np.array(example["x"]), example["c"]) == (
        pytest.approx((example["left"], example["right"]))
    )
    with complaint(ValueError, "no size 'm'", "x"):
        search_instances(
            lambda x: (0.0, 1.0), [{"d": 1}], {"x": ("m",)}, Budget(), np.random.default_rng(0)
        )


def test_parts_of_a_part_are_named_behind_a_dot():
    def read(reader, shape):
        pair = Pair(reader.numbers(2), reader.numbers(1))
        return {"pair": pair, "kind": "any", "truth": problem(reader)}

    def problem(reader):
        return SharedRepresentation(reader.frame(2, 1), reader.numbers(3, 1))

    found = search_instances(
        lambda at: (1.0, 2.0), [{}], read, Budget("quick"), np.random.default_rng(0)
    )
    assert {"pair.a", "pair.b", "kind", "truth.B", "truth.W", "left", "right"} <= set(found.worst)


def test_an_instance_without_names_is_its_numbers():
    found = search_instances(
        lambda at: (1.0, 2.0), [{}], lambda reader, shape: reader.number() and object(),
        Budget("quick"), np.random.default_rng(0),
    )  # fmt: skip
    assert list(found.worst) == ["x", "left", "right"]
    assert len(found.worst["x"]) == 1
