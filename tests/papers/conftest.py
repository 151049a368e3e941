"""Each file of statements is tested by the module of its name; see tests/papers/support.py."""

import pytest

from tests.papers.support import SLOW, statements_of


def pytest_generate_tests(metafunc):
    if metafunc.function.__name__ == "test_a_negative_control_is_rejected":
        ids = statements_of(metafunc.module.__name__)
        marked = [pytest.param(id, marks=pytest.mark.slow if id in SLOW else ()) for id in ids]
        metafunc.parametrize("id", marked)
