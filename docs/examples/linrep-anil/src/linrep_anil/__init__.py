"""Statements on ANIL and MAML as learners of representations, with checks that can refute them."""
