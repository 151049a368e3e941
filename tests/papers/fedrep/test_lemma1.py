"""Statements of `linrep.papers.fedrep.lemma1`."""

from tests.papers.support import *  # noqa: F403
