"""Statements of `linrep.papers.pflmf.eq11`."""

from tests.papers.support import *  # noqa: F403
