"""Statements of `linrep.papers.perfedsi.theorem3_3_local`."""

from tests.papers.support import *  # noqa: F403
