"""Statements of `linrep.papers.flute.eq13`."""

from tests.papers.support import *  # noqa: F403
