"""Two clients, a sample (x, y) each: (1, 0) and (2, 0), with the loss (x theta - y)^2/2."""

from fractions import Fraction

Sample = tuple[Fraction | int, Fraction | int]


def minimizer(samples: list[Sample]) -> Fraction:
    """Return the model with the least mean loss."""
    return sum((Fraction(x * y) for x, y in samples), Fraction(0)) / sum(x**2 for x, _ in samples)


def total_variation(one: list[Sample], other: list[Sample]) -> Fraction:
    """Return the distance of the distributions of two clients' samples, 0 if they are equal."""
    shares = [
        abs(Fraction(one.count(each), len(one)) - Fraction(other.count(each), len(other)))
        for each in {*one, *other}
    ]
    return sum(shares, Fraction(0)) / 2


def sides(second: Sample = (2, 0)) -> tuple[Fraction, Fraction]:
    """Return the distance of the clients' distributions, and how far FedAvg's model is from theirs.

    Where the latter is 0 FedAvg is optimal for both, and the former is claimed to be 0.
    """
    first: Sample = (1, 0)
    common = minimizer([first, second])
    apart = max(abs(common - minimizer([each])) for each in (first, second))
    return total_variation([first], [second]), apart
