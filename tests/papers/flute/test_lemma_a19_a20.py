"""Statements of `linrep.papers.flute.lemma_a19_a20`."""

from tests.papers.support import *  # noqa: F403
