"""Statements of `linrep.papers.flute.proposition_a02`."""

from tests.papers.support import *  # noqa: F403
