"""Tests of linrep.algorithms."""
