"""Statements of `linrep.papers.pflmf.step_a_c`."""

from tests.papers.support import *  # noqa: F403
