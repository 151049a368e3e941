"""Statements of `linrep.papers.fedrep.noise_floor`."""

from tests.papers.support import *  # noqa: F403
