"""Tests of matrix completion."""
