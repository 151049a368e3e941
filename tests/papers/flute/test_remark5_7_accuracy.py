"""Statements of `linrep.papers.flute.remark5_7_accuracy`."""

from tests.papers.support import *  # noqa: F403
