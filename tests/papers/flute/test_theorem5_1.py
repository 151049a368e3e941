"""Statements of `linrep.papers.flute.theorem5_1`."""

from tests.papers.support import *  # noqa: F403
