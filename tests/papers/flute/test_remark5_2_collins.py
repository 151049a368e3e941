"""Statements of `linrep.papers.flute.remark5_2_collins`."""

from tests.papers.support import *  # noqa: F403
