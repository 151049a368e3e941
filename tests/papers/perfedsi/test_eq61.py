"""Statements of `linrep.papers.perfedsi.eq61`."""

from tests.papers.support import *  # noqa: F403
