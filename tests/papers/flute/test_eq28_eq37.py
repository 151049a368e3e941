"""Statements of `linrep.papers.flute.eq28_eq37`."""

from tests.papers.support import *  # noqa: F403
