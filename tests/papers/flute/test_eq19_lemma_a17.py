"""Statements of `linrep.papers.flute.eq19_lemma_a17`."""

from tests.papers.support import *  # noqa: F403
