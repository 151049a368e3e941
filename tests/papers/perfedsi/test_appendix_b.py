"""Statements of `linrep.papers.perfedsi.appendix_b`."""

from tests.papers.support import *  # noqa: F403
