"""Statements of `linrep.papers.fedrep.eq85`."""

from tests.papers.support import *  # noqa: F403
