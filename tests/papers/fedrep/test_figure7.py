"""Statements of `linrep.papers.fedrep.figure7`."""

from tests.papers.support import *  # noqa: F403
