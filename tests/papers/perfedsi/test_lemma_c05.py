"""Statements of `linrep.papers.perfedsi.lemma_c05`."""

from tests.papers.support import *  # noqa: F403
