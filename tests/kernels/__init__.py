"""Tests of linrep.kernels."""
