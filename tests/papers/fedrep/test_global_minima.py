"""Statements of `linrep.papers.fedrep.global_minima`."""

from tests.papers.support import *  # noqa: F403
