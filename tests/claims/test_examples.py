"""The examples of what `linrep.claims` offers print what they say."""

import doctest
import inspect
from typing import is_typeddict

import pytest

import linrep.claims
from linrep.claims import contents, prose, record, search

CLASSES = {
    name: item
    for module in (linrep.claims, contents, record)
    for name in dir(module)
    if inspect.isclass(item := getattr(module, name))
    and (module is linrep.claims or item.__module__ == module.__name__)
    and not is_typeddict(item)
}
OTHERS = {
    "Finding": prose.Finding,
    "Record.cite": record.Record.cite,
    "search_instances": search.search_instances,
}


def test_all_classes_are_looked_at():
    assert {"Cases", "Constant", "Readings", "Claim", "Evidence", "Record"} <= set(CLASSES)


def test_all_classes_have_an_example():
    assert [name for name, item in CLASSES.items() if ">>> " not in (item.__doc__ or "")] == []


@pytest.mark.parametrize("name", [*CLASSES, *OTHERS])
def test_examples_print_what_they_say(name):
    item = {**CLASSES, **OTHERS}[name]
    names = vars(inspect.getmodule(item)).copy()
    (found,) = doctest.DocTestFinder(recurse=False).find(item, name, globs=names)
    assert found.examples, f"{name} has no example"
    assert doctest.DocTestRunner().run(found).failed == 0
