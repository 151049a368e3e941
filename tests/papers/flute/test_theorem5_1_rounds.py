"""Statements of `linrep.papers.flute.theorem5_1_rounds`."""

from tests.papers.support import *  # noqa: F403
