"""Statements of `linrep.papers.flute.figure4`."""

from tests.papers.support import *  # noqa: F403
