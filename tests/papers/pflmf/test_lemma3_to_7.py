"""Statements of `linrep.papers.pflmf.lemma3_to_7`."""

from tests.papers.support import *  # noqa: F403
