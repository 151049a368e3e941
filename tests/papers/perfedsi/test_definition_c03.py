"""Statements of `linrep.papers.perfedsi.definition_c03`."""

from tests.papers.support import *  # noqa: F403
