"""Statements of `linrep.papers.fedrep.eq13_to_16`."""

from tests.papers.support import *  # noqa: F403
