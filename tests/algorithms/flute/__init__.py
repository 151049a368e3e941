"""Tests of FLUTE."""
