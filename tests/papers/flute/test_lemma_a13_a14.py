"""Statements of `linrep.papers.flute.lemma_a13_a14`."""

from tests.papers.support import *  # noqa: F403
