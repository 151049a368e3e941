"""Statements of `linrep.papers.flute.theorem5_5`."""

from tests.papers.support import *  # noqa: F403
