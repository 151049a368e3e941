"""Statements of `linrep.papers.pflmf.theorem1`."""

from tests.papers.support import *  # noqa: F403
