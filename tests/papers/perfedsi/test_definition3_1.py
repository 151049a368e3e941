"""Statements of `linrep.papers.perfedsi.definition3_1`."""

from tests.papers.support import *  # noqa: F403
