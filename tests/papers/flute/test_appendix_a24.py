"""Statements of `linrep.papers.flute.appendix_a24`."""

from tests.papers.support import *  # noqa: F403
