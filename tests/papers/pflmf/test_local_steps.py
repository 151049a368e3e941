"""Statements of `linrep.papers.pflmf.local_steps`."""

from tests.papers.support import *  # noqa: F403
