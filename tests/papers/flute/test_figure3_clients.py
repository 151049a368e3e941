"""Statements of `linrep.papers.flute.figure3_clients`."""

from tests.papers.support import *  # noqa: F403
