"""Statements of `linrep.papers.perfedsi.eq47_to_52`."""

from tests.papers.support import *  # noqa: F403
