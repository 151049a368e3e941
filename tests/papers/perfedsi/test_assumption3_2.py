"""Statements of `linrep.papers.perfedsi.assumption3_2`."""

from tests.papers.support import *  # noqa: F403
