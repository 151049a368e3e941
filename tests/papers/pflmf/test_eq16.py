"""Statements of `linrep.papers.pflmf.eq16`."""

from tests.papers.support import *  # noqa: F403
