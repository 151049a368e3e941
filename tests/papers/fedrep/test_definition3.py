"""Statements of `linrep.papers.fedrep.definition3`."""

from tests.papers.support import *  # noqa: F403
