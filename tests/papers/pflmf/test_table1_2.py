"""Statements of `linrep.papers.pflmf.table1_2`."""

from tests.papers.support import *  # noqa: F403
