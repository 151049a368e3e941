"""Statements of `linrep.papers.perfedsi.lemma_c08`."""

from tests.papers.support import *  # noqa: F403
