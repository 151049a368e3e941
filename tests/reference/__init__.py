"""Naive NumPy implementations of the FedRep formulas, used as the tests' reference."""
