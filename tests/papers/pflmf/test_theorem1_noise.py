"""Statements of `linrep.papers.pflmf.theorem1_noise`."""

from tests.papers.support import *  # noqa: F403
