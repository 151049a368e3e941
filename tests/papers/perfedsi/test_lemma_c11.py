"""Statements of `linrep.papers.perfedsi.lemma_c11`."""

from tests.papers.support import *  # noqa: F403
