"""Statements of `linrep.papers.perfedsi.sections2_4`."""

from tests.papers.support import *  # noqa: F403
