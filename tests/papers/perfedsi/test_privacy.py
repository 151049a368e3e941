"""Statements of `linrep.papers.perfedsi.privacy`."""

from tests.papers.support import *  # noqa: F403
