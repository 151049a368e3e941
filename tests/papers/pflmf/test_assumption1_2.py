"""Statements of `linrep.papers.pflmf.assumption1_2`."""

from tests.papers.support import *  # noqa: F403
