"""Statements of `linrep.papers.fedrep.heads`."""

from tests.papers.support import *  # noqa: F403
