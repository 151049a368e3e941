"""Statements of `linrep.papers.fedrep.figure4`."""

from tests.papers.support import *  # noqa: F403
