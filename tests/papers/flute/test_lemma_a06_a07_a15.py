"""Statements of `linrep.papers.flute.lemma_a06_a07_a15`."""

from tests.papers.support import *  # noqa: F403
