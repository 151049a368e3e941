"""Statements of `linrep.papers.fedrep.starts`."""

from tests.papers.support import *  # noqa: F403
