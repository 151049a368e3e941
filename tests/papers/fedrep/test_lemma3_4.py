"""Statements of `linrep.papers.fedrep.lemma3_4`."""

from tests.papers.support import *  # noqa: F403
