"""Statements of `linrep.papers.fedrep.privacy`."""

from tests.papers.support import *  # noqa: F403
