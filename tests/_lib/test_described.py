"""Parameters that are described once."""

import inspect

import pytest

import linrep as lr
from linrep._lib.described import SHARED, complete
from linrep.algorithms import biases, imc, personalized


def test_names_alone_are_described():
    def method(problem, *, k, rounds=100, own=1, rng=None):
        """Run.

        Parameters
        ----------
        problem, k
        rounds
        own : int, default 1
            Its own.
        rng

        Returns
        -------
        k
        """

    complete(method)
    lines = inspect.getdoc(method).splitlines()
    heads = [line for line in lines if " : " in line]
    assert heads == [
        "problem : SharedRepresentation or ClientData",
        "k : int",
        "rounds : int, default 100",
        "own : int, default 1",
        "rng : optional",
    ]
    text = SHARED["rng"][1].splitlines()
    assert lines[-4 - len(text) : -4] == [f"    {line}" for line in text]
    assert lines[-1] == "k"  # outside of the section


def test_what_has_a_text_or_is_unknown_stays_as_it_is():
    def method(k=None, other=1):
        """Run.

        Parameters
        ----------
        k, other
        k
            As in :func:`fedrep`.
        """

    before = method.__doc__
    complete(method)
    assert method.__doc__ == before


@pytest.mark.parametrize("module", [lr.algorithms, lr, biases, imc, personalized])
def test_every_algorithm_says_what_it_takes(module):
    names = getattr(module, "__all__", dir(module))
    functions = [
        item
        for item in (getattr(module, name) for name in names)
        if inspect.isfunction(item)
        and not item.__name__.startswith("_")
        and item.__module__.startswith("linrep.algorithms")
    ]
    assert functions
    for function in functions:
        section = inspect.getdoc(function).partition("Parameters\n----------\n")[2].split("\n\n")[0]
        lines = section.splitlines()
        for line, following in zip(lines, [*lines[1:], ""], strict=False):
            words = line.startswith(" ") or " : " in line or following.startswith("    ")
            assert words, f"{function.__name__}: {line}"
