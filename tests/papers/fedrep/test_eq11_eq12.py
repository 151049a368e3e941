"""Statements of `linrep.papers.fedrep.eq11_eq12`."""

from tests.papers.support import *  # noqa: F403
