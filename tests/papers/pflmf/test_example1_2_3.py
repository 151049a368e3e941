"""Statements of `linrep.papers.pflmf.example1_2_3`."""

from tests.papers.support import *  # noqa: F403
