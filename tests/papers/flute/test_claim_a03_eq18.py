"""Statements of `linrep.papers.flute.claim_a03_eq18`."""

from tests.papers.support import *  # noqa: F403
