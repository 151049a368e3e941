"""Statements of `linrep.papers.fedrep.assumption1_definition2`."""

from tests.papers.support import *  # noqa: F403
