"""Statements of `linrep.papers.flute.nc_metrics`."""

from tests.papers.support import *  # noqa: F403
