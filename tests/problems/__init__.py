"""Tests of linrep.problems."""
