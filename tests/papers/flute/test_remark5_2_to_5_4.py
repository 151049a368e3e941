"""Statements of `linrep.papers.flute.remark5_2_to_5_4`."""

from tests.papers.support import *  # noqa: F403
