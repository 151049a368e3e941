"""Statements of `linrep.papers.pflmf.corollary2_sharp`."""

from tests.papers.support import *  # noqa: F403
