"""Statements of `linrep.papers.pflmf.eq7_to_9`."""

from tests.papers.support import *  # noqa: F403
