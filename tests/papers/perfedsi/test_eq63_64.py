"""Statements of `linrep.papers.perfedsi.eq63_64`."""

from tests.papers.support import *  # noqa: F403
