"""Statements of `linrep.papers.fedrep.lemma6`."""

from tests.papers.support import *  # noqa: F403
