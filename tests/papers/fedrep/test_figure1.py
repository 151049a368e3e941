"""Statements of `linrep.papers.fedrep.figure1`."""

from tests.papers.support import *  # noqa: F403
