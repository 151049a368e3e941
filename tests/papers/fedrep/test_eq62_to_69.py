"""Statements of `linrep.papers.fedrep.eq62_to_69`."""

from tests.papers.support import *  # noqa: F403
