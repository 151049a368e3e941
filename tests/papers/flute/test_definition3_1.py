"""Statements of `linrep.papers.flute.definition3_1`."""

from tests.papers.support import *  # noqa: F403
