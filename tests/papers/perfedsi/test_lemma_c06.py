"""Statements of `linrep.papers.perfedsi.lemma_c06`."""

from tests.papers.support import *  # noqa: F403
