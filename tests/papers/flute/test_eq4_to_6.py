"""Statements of `linrep.papers.flute.eq4_to_6`."""

from tests.papers.support import *  # noqa: F403
