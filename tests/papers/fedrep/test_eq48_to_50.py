"""Statements of `linrep.papers.fedrep.eq48_to_50`."""

from tests.papers.support import *  # noqa: F403
