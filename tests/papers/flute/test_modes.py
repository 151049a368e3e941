"""Statements of `linrep.papers.flute.modes`."""

from tests.papers.support import *  # noqa: F403
