"""Statements of `linrep.papers.flute.lemma_a05`."""

from tests.papers.support import *  # noqa: F403
