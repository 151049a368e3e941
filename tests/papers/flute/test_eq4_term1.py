"""Statements of `linrep.papers.flute.eq4_term1`."""

from tests.papers.support import *  # noqa: F403
