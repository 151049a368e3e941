"""Statements of `linrep.papers.fedrep.lemma5`."""

from tests.papers.support import *  # noqa: F403
