"""Statements of `linrep.papers.pflmf.eq1_to_6`."""

from tests.papers.support import *  # noqa: F403
