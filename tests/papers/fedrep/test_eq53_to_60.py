"""Statements of `linrep.papers.fedrep.eq53_to_60`."""

from tests.papers.support import *  # noqa: F403
