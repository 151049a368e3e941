"""Statements of `linrep.papers.fedrep.figure3`."""

from tests.papers.support import *  # noqa: F403
