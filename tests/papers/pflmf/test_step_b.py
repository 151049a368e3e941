"""Statements of `linrep.papers.pflmf.step_b`."""

from tests.papers.support import *  # noqa: F403
