"""Statements of `linrep.papers.flute.lemma_a13_steps`."""

from tests.papers.support import *  # noqa: F403
