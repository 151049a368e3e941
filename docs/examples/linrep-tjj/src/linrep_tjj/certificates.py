"""Inequalities in a few real numbers that solvers decide: linrep certify."""

from linrep.claims.certificates import certificate


@certificate("tjj.transfer.helps.corrected", "the threshold on what is missed is enough")
def threshold(missed, noise, d, k, n, *, limit=1):
    """Return what is given, and what follows; the sides are multiplied by their denominators."""
    given = [k > 0, d >= k, n > d + 1, noise >= 0, missed >= 0]
    given += [missed * (n - d - 1) <= limit * noise * (d - k)]
    shared = missed * (n - k - 1) + (noise + missed) * k
    return given, shared * (n - d - 1) <= noise * d * (n - k - 1)
