"""Statements of `linrep.papers.pflmf.number_of_steps`."""

from tests.papers.support import *  # noqa: F403
