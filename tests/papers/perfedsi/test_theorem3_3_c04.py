"""Statements of `linrep.papers.perfedsi.theorem3_3_c04`."""

from tests.papers.support import *  # noqa: F403
