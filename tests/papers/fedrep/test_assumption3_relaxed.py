"""Statements of `linrep.papers.fedrep.assumption3_relaxed`."""

from tests.papers.support import *  # noqa: F403
