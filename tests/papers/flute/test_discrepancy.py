"""Statements of `linrep.papers.flute.discrepancy`."""

from tests.papers.support import *  # noqa: F403
