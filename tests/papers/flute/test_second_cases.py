"""Statements of `linrep.papers.flute.second_cases`."""

from tests.papers.support import *  # noqa: F403
