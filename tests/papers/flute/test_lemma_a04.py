"""Statements of `linrep.papers.flute.lemma_a04`."""

from tests.papers.support import *  # noqa: F403
