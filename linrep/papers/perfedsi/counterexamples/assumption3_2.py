"""Assumption 3.2 for rows of norm 1: the k basis vectors, so that Z'Z = I and M = k."""

from fractions import Fraction


def sides(constant: int = 10**6) -> tuple[Fraction, Fraction]:
    """Return the least c_z at k twice the constant, and the constant."""
    k = clients = 2 * constant
    eigenvalue = Fraction(clients, k)  # all of Z'Z = I: their sum is the number of rows
    return clients / eigenvalue, Fraction(constant)
