"""Statements of `linrep.papers.flute.lemma_a10_to_a12`."""

from tests.papers.support import *  # noqa: F403
