"""(45): lambda* = 1, 7/10, 0, eta = 3/100 and sigma_2(Theta_k) = 1/10000, k = 2."""

from fractions import Fraction

INSTANCE = {
    "lambda*": ["1", "7/10", "0"],
    "eta": "3/100",
    "sigma_1(Theta_k)": "6/5",
    "sigma_2(Theta_k)": "1/10000",
    "left singular vectors": [["4/5", "-3/5"], ["3/5", "4/5"]],
    "Theta_res": ["-9/25", "-47/100"],
}


def sides(loss=Fraction(1, 4)) -> tuple[Fraction, Fraction]:
    """Return the growth of sigma_k^2(Theta_k) that is claimed, and an upper bound of the true one.

    sigma_k^2 after the step is at most |Av|^2/|v|^2 for any v, A being Theta_k after it.
    """
    eta, second, small = Fraction(3, 100), Fraction(7, 10), Fraction(1, 10**4)
    large, r = Fraction(6, 5), (Fraction(-9, 25), Fraction(-47, 100))
    Theta = [
        [Fraction(4, 5) * large, Fraction(-3, 5) * small],
        [Fraction(3, 5) * large, Fraction(4, 5) * small],
    ]
    moment = [[r[i] * r[j] for j in range(2)] for i in range(2)]  # Theta'Theta
    moment[0][0] += large**2
    moment[1][1] += small**2
    A = [[Fraction(0)] * 2 for _ in range(2)]
    for i in range(2):
        for j in range(2):
            cubic = Theta[i][0] * moment[0][j] + Theta[i][1] * moment[1][j]
            A[i][j] = Theta[i][j] + eta / 2 * ((1, second)[i] * Theta[i][j] - cubic)
    # Near the right singular vector: the first entry at which the first column hides the second.
    inner = A[0][0] * A[0][1] + A[1][0] * A[1][1]
    v = (-inner / (A[0][0] ** 2 + A[1][0] ** 2)).limit_denominator(10**6)
    most = sum((row[0] * v + row[1]) ** 2 for row in A) / (v**2 + 1)
    rest = r[0] ** 2 + r[1] ** 2
    claimed = 1 + eta * (second - rest - small**2) - Fraction(loss) * eta * second
    return claimed, most / small**2
