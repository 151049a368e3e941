"""Statements of `linrep.papers.fedrep.algorithm2`."""

from tests.papers.support import *  # noqa: F403
