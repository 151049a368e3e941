"""Statements of `linrep.papers.fedrep.eq4_eq5`."""

from tests.papers.support import *  # noqa: F403
