"""Statements of `linrep.papers.fedrep.head_cost`."""

from tests.papers.support import *  # noqa: F403
