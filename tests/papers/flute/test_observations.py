"""Statements of `linrep.papers.flute.observations`."""

from tests.papers.support import *  # noqa: F403
