"""Statements of `linrep.papers.pflmf.corollary2`."""

from tests.papers.support import *  # noqa: F403
