"""Statements of `linrep.papers.flute.lemma_a08_proposition_a09`."""

from tests.papers.support import *  # noqa: F403
