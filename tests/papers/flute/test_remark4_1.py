"""Statements of `linrep.papers.flute.remark4_1`."""

from tests.papers.support import *  # noqa: F403
