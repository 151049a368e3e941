"""Statements of `linrep.papers.flute.lemma_a18`."""

from tests.papers.support import *  # noqa: F403
