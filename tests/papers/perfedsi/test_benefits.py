"""Statements of `linrep.papers.perfedsi.benefits`."""

from tests.papers.support import *  # noqa: F403
