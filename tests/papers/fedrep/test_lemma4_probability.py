"""Statements of `linrep.papers.fedrep.lemma4_probability`."""

from tests.papers.support import *  # noqa: F403
