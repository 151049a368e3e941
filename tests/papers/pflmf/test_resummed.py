"""Statements of `linrep.papers.pflmf.resummed`."""

from tests.papers.support import *  # noqa: F403
