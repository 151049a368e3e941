"""Statements of `linrep.papers.fedrep.eq70_to_84`."""

from tests.papers.support import *  # noqa: F403
