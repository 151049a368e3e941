"""Scalar inequalities of the proofs and derivations on FLUTE, in their variables."""

from fractions import Fraction as Q

from linrep.claims.certificates import certificate

HALF = Q(1, 2)


def _step(eta, gap, first, last, share):
    """Return the conditions on a step: eta <= share gap^2, with gap <= last <= first."""
    return [eta > 0, gap > 0, eta <= share * gap**2, gap <= last, last <= first]


@certificate("flute.eq19", "the bound on the weakest direction loses at most 71/288 eta Delta")
def end_of_proof(eta, gap, last, root2, *, loss=Q(71, 288)):
    bracket = eta**2 / (2 * (1 - eta) * (1 + eta / 2))
    base = 1 + eta * last / 2
    bound = base * (1 - bracket) * (1 - eta * gap / 8) - root2 * eta * gap / 16
    given = [*_step(eta, gap, 1, last, Q(1, 18)), root2 > 0, root2**2 == 2]
    return given, base - loss * eta * gap <= bound


@certificate("flute.eq19.display.corrected", "the last line of the display implies (19)")
def last_line(eta, gap, first, last, *, middle=Q(1, 8), tail=Q(1, 16)):
    base = 1 + eta * last / 2
    line = (1 - eta**2 * first**2 / 2) * base * (1 - middle * eta * gap) - tail * eta * gap
    given = [eta > 0, gap > 0, 18 * eta * first**3 <= gap**2, gap <= last, last <= first]
    return given, base - Q(71, 288) * eta * gap <= line


def _unit(x, a):
    return [x > 0, x <= 1, a >= -HALF, a <= HALF]


@certificate(
    "flute.eq28.corrected", "the quotient of the two factors is at most 1 - x/7", whole=True
)
def quotient(x, a, *, divisor=7):
    return _unit(x, a), (1 - x / 8 + a) / (1 + x / 8 + a) <= 1 - x / divisor


@certificate("flute.eq28.corrected", "1 - x/7 is at most (1 - x/16)^2", whole=True)
def square(x, *, divisor=7):
    return [x > 0, x <= 1], 1 - x / divisor <= (1 - x / 16) ** 2


@certificate("flute.lemmaA16.corrected", "sqrt(2) s - s^2/4 - s^6/4 < 1 for 0 <= s <= sqrt(2)")
def loss(s, root2):
    given = [s >= 0, s**2 <= 2, root2 > 0, root2**2 == 2]
    return given, root2 * s - s**2 / 4 - s**6 / 4 < 1


@certificate("flute.propositionA9", "the leading rows: a margin of eta Delta^(3/2)/40")
def leading_rows(eta, h, last, root2, *, room=Q(1, 40)):
    # h is the root of Delta, and lambda*_1 = 1.
    shrunk = 1 - (eta / 2) * (last - h**2 / 2) / (1 - eta)
    product = (h / 2) * (1 + eta * last / 2) * (1 - eta * h**2 / 8) * shrunk
    bound = product - eta**2 * root2 / 2
    given = [eta > 0, h > 0, h**2 <= last, last <= 1, 32 * eta <= h**4]
    return [*given, root2 > 0, root2**2 == 2], bound >= h / 2 + room * eta * h**3


@certificate("flute.propositionA9", "the rest: a step shrinks it by 1 - 3 eta Delta/8")
def other_rows(eta, gap, last, s):
    # The bound on the largest singular value grows up to s^2 = last - gap/2.
    edge = last - gap / 2
    given = [eta > 0, gap > 0, gap <= last, last <= 1, 32 * eta <= gap**2, s >= 0, s**2 <= edge]
    following = last - gap
    factor = 1 + (eta / 2) * (following - s**2 - gap / 4)
    return given, s**2 * factor**2 <= edge * (1 - 3 * eta * gap / 8) ** 2


@certificate("flute.lemmaA15", "s/2 - eta s^3/2 grows for eta <= 1/6 and s^2 <= 2")
def grows(eta, s, t):
    given = [eta > 0, 6 * eta <= 1, s >= 0, s <= t, t**2 <= 2]
    return given, s / 2 - eta * s**3 / 2 <= t / 2 - eta * t**3 / 2


def _below(eta, gap, last, size, weak):
    """Return what Lemma A.10 has of a step: size of Theta_res and weakest direction, squared."""
    given = [eta > 0, gap > 0, 36 * eta <= gap**2, gap <= last, last <= 1]
    return [*given, size >= 0, size <= last - gap / 2, gap / 4 <= weak, weak <= 2]


def _chain(eta, gap, last, size, weak):
    y = last - gap + gap / 8 - size - weak
    return eta * gap, y, eta * (last - gap / 2 - size - weak)


@certificate("flute.lemmaA10", "(24): the square of the growth of Theta_res, with 4 eta^2")
def display24(eta, gap, last, size, weak):
    _, y, _ = _chain(eta, gap, last, size, weak)
    return _below(eta, gap, last, size, weak), (1 + eta / 2 * y) ** 2 <= 1 + eta * y + 4 * eta**2


@certificate("flute.lemmaA10", "after (24): 4 eta^2 <= eta Delta/4")
def after24(eta, gap):
    return [eta > 0, gap > 0, gap <= 1, 36 * eta <= gap**2], 4 * eta**2 <= eta * gap / 4


@certificate("flute.lemmaA10", "(25): 1 + eta y + eta Delta/4 <= 1 - eta Delta/8 + z")
def display25(eta, gap, last, size, weak):
    x, y, z = _chain(eta, gap, last, size, weak)
    return _below(eta, gap, last, size, weak), 1 + eta * y + x / 4 <= 1 - x / 8 + z


@certificate("flute.lemmaA10", "(26): the noise beside what the weakest direction gains")
def display26(eta, gap, last, size, weak):
    return _below(eta, gap, last, size, weak), eta * gap**2 / 128 <= eta * gap / 8 * weak


@certificate("flute.lemmaA10", "(27): the growth of the weakest direction, less its noise")
def display27(eta, gap, last, size, weak):
    x, _, z = _chain(eta, gap, last, size, weak)
    gain = 1 + eta * (last - size - weak) - x / 4 - x / 8
    return _below(eta, gap, last, size, weak), 1 + x / 8 + z <= gain


@certificate("flute.lemmaA10", "(28): what both factors share is between -1/2 and 1/2")
def range28(eta, gap, last, size, weak):
    _, _, z = _chain(eta, gap, last, size, weak)
    return _below(eta, gap, last, size, weak), 4 * z**2 <= 1


@certificate("flute.lemmaA10", "(28): the quotient of the two factors")
def display28(eta, gap, last, size, weak):
    x, _, z = _chain(eta, gap, last, size, weak)
    quotient = (1 - x / 8 + z) / (1 + x / 8 + z)
    return _below(eta, gap, last, size, weak), quotient <= (12 - x) / (12 + x)


@certificate("flute.lemmaA10", "(28) to (29)")
def display29(x, *, rate=Q(1, 16)):
    return [x > 0, 36 * x <= 1], (12 - x) / (12 + x) <= (1 - rate * x) ** 2


@certificate("flute.lemmaA10.second_case", "a step multiplies the quotient by at most (1 - x/16)^2")
def factor(x, a, *, rate=Q(1, 16)):
    given = [x > 0, 36 * x <= 1, a >= -HALF, a <= HALF]
    return given, (1 - x / 8 + a) / (1 + x / 8 + a) <= (1 - rate * x) ** 2


@certificate("flute.lemmaA11.second_case.corrected", "(1 - x/8)^2 + 2 eta^2 <= 1 - x/8")
def without_noise(eta, gap):
    x = eta * gap
    given = [eta > 0, gap > 0, gap <= 1, 36 * eta <= gap**2]
    return given, (1 - x / 8) ** 2 + 2 * eta**2 <= 1 - x / 8


@certificate("flute.lemmaA11.second_case.corrected", "1 + 128/(1 - y) is at most 200 for y = x/16")
def sums_up(x, *, constant=200):
    return [x > 0, 36 * x <= 1], 1 + 128 / (1 - x / 16) <= constant
