"""Statements of `linrep.papers.fedrep.eq33_to_39`."""

from tests.papers.support import *  # noqa: F403
