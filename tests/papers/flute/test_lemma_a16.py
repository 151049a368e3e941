"""Statements of `linrep.papers.flute.lemma_a16`."""

from tests.papers.support import *  # noqa: F403
