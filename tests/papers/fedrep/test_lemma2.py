"""Statements of `linrep.papers.fedrep.lemma2`."""

from tests.papers.support import *  # noqa: F403
