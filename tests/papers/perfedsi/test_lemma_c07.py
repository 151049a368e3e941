"""Statements of `linrep.papers.perfedsi.lemma_c07`."""

from tests.papers.support import *  # noqa: F403
