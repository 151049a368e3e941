"""Statements of `linrep.papers.fedrep.figure3_scaling`."""

from tests.papers.support import *  # noqa: F403
