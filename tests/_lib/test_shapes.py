"""Plain values beside the type that they should be of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

import pytest

from linrep._lib import shapes
from tests.tools import complaint


class Inner(TypedDict):
    number: float | None
    name: NotRequired[str]


@dataclass
class Told:
    value: Any
    unit: str = ""
    setting: Mapping[str, int] = field(default_factory=dict)


class Outer(TypedDict):
    items: list[Inner]
    told: Told
    flag: bool
    names: tuple[str, ...]


GOOD = {
    "items": [{"number": 1.5}, {"number": None, "name": "a"}, {"number": 2}],
    "told": {"value": [1, "x"], "setting": {"n": 3}},
    "flag": True,
    "names": ["a", "b"],
}


def test_what_is_of_a_type_passes():
    shapes.check(GOOD, Outer, "it")
    shapes.check({**GOOD, "names": ("a",), "items": ()}, Outer, "it")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"more": 1}, "it has the unknown key 'more'"),
        ({"flag": 1}, "it.flag is not true or false"),
        ({"names": "ab"}, "it.names is not a list"),
        ({"names": ["a", None]}, "it.names[1] is not a text"),
        ({"items": [{"number": True}]}, "it.items[0].number is not a number"),
        ({"items": [{"name": "a"}]}, "it.items[0] lacks 'number'"),
        ({"items": [{"number": "1"}]}, "it.items[0].number is not a number"),
        ({"items": {"number": 1}}, "it.items is not a list"),
        ({"items": [[]]}, "it.items[0] is not an object"),
        ({"told": {"unit": ""}}, "it.told lacks 'value'"),
        ({"told": {"value": 1, "unit": None}}, "it.told.unit is not a text"),
        ({"told": {"value": 1, "setting": {"n": 1.5}}}, "it.told.setting.n is not an integer"),
        ({"told": {"value": 1, "setting": []}}, "it.told.setting is not an object"),
    ],
)
def test_what_is_of_none_is_named(change, said):
    with complaint(ValueError, said):
        shapes.check({**GOOD, **change}, Outer, "it")


def test_nothing_may_be_missing():
    for name in GOOD:
        with complaint(ValueError, f"it lacks {name!r}"):
            shapes.check({key: GOOD[key] for key in GOOD if key != name}, Outer, "it")
