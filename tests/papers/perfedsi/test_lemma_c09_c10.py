"""Statements of `linrep.papers.perfedsi.lemma_c09_c10`."""

from tests.papers.support import *  # noqa: F403
