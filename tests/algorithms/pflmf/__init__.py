"""Tests of pFL^MF."""
