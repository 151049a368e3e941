"""Statements of `linrep.papers.flute.remark5_6_7`."""

from tests.papers.support import *  # noqa: F403
