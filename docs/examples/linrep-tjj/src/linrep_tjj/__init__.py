"""Statements of a paper, with the checks that can refute them.

Provable meta-learning of linear representations.
"""
