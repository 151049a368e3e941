"""Statements of `linrep.papers.fedrep.definition1`."""

from tests.papers.support import *  # noqa: F403
