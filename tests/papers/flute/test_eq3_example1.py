"""Statements of `linrep.papers.flute.eq3_example1`."""

from tests.papers.support import *  # noqa: F403
