"""Statements of `linrep.papers.flute.appendix_b`."""

from tests.papers.support import *  # noqa: F403
