"""Statements of `linrep.papers.fedrep.assumption2_3`."""

from tests.papers.support import *  # noqa: F403
