"""Statements of `linrep.papers.pflmf.displays`."""

from tests.papers.support import *  # noqa: F403
