"""Statements of `linrep.papers.flute.minimisers`."""

from tests.papers.support import *  # noqa: F403
