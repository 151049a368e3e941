"""Statements of `linrep.papers.perfedsi.eq5_to_13_remark2_2`."""

from tests.papers.support import *  # noqa: F403
