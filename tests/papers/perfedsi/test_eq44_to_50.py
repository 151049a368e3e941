"""Statements of `linrep.papers.perfedsi.eq44_to_50`."""

from tests.papers.support import *  # noqa: F403
