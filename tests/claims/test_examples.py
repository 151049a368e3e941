"""The examples of what `linrep.claims` offers print what they say."""

import doctest
import inspect

import pytest

import linrep.claims
from linrep.claims import entry, instances

CLASSES = {
    name: item
    for name in dir(linrep.claims)
    if inspect.isclass(item := getattr(linrep.claims, name))
}
OTHERS = {"Entry.cite": entry.Entry.cite, "search_instances": instances.search_instances}


def test_all_classes_are_looked_at():
    assert {"Cases", "Constant", "Readings", "Claim", "Evidence"} <= set(CLASSES)


@pytest.mark.parametrize("name", [*CLASSES, *OTHERS])
def test_examples_print_what_they_say(name):
    item = {**CLASSES, **OTHERS}[name]
    names = vars(inspect.getmodule(item)).copy()
    (found,) = doctest.DocTestFinder(recurse=False).find(item, name, globs=names)
    assert found.examples, f"{name} has no example"
    assert doctest.DocTestRunner().run(found).failed == 0
