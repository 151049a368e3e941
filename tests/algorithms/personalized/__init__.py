"""Tests of what pFL^MF is compared with."""
