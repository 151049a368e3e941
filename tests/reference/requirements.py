"""What theorems ask for, written out: loops over rounds in place of logarithms."""

import numpy as np


def rounds_of_a_factor(factor, goal, before=0):
    """Return the least whole T with factor^(T - before) <= goal."""
    T, left = before, 1.0
    while left > goal:
        left *= factor
        T += 1
    return T


def perfedsi_step(sigma_1, sigma_r, c, mu, c_z, p, r, tau, *, corrected):
    """Return the largest eta of Theorem C.4; corrected: sigma_r^2/(... sigma_1^3 c^7 ...)."""
    if corrected:
        return sigma_r**2 / (132 * p**1.5 * r * tau * mu**2 * sigma_1**3 * c**7 * c_z**4)
    return sigma_r / (132 * p**1.5 * r * tau * mu**2 * sigma_1**2 * c**5 * c_z**4)


def perfedsi_factor(eta, tau, sigma_1, sigma_r, c, c_z, d, p, *, corrected):
    """Return the factor of a round in (15); corrected: sigma_r^2/(2 c^2 sigma_1 c_z^3 d)."""
    if corrected:
        return 1 - eta * tau * sigma_r**2 / (2 * c**2 * sigma_1 * c_z**3 * d)
    return 1 - eta * tau * sigma_r / (2 * c * c_z**3 * d * p)


def pflmf_bound(gap, L, eta, T, sigma):
    """Return the right side of Theorem 1 of pFL^MF."""
    slack = 1 - 2 * eta * L
    return 2 * gap / (eta * T * slack) + 2 * eta * L * sigma**2 / slack


def pflmf_corollary(gap, L, T, sigma):
    """Return the right side of Corollary 2: with noise, and without."""
    return (4 * L * gap + sigma**2) / (np.sqrt(T) - 1) if sigma else 16 * L * gap / T


def pflmf_sharp(gap, L, eta, T, sigma, p, K):
    """Return the right side of the sharp form of Theorem 1."""
    beta = np.sqrt((K - 1) / (2 * K))
    s = p / K + 4 * p * (1 - p) * beta
    c = max(np.roots([4, -2 * (1 + s), s - p**2]))  # (2c - 1)(2c - s) = p^2
    omega = (1 + p**3 / K) / 2 + (1 - p) * p**3 * beta * (2 * K - 1) / (3 * K)
    return (gap / (eta * T) + omega * eta * L * sigma**2) / (1 - c * eta * L)


def fedrep_samples(d, k, rn, kappa, start, c):
    """Return c kappa^4 (k^2 d/(rn) + k^3 log(rn))/E_0^2."""
    E_0 = 1 - start**2
    return c * kappa**4 * (k**2 * d / rn + k**3 * np.log(rn)) / E_0**2


def fedrep_proof(c):
    """Return c' = 2 (125 c/16)^2, which makes delta + delta' at most 16 E_0/(125 kappa^2)."""
    return 2 * (125 * c / 16) ** 2


def flute_proof(lambdas, k, size, sigma, eta, t, delta, c_1):
    """Return N of (34) at round t: max(l, 1152 S l/(kappa^t Delta), 6144 lambda*_1 S l/Delta^2)^2.

    ``lambdas`` are the singular values of Phi; in the appendix they are doubled.
    """
    first, gap = 2 * lambdas[0], 2 * (lambdas[k - 1] - lambdas[k])
    S = np.sqrt(k * first**2 + sum(x**2 for x in lambdas)) + np.sqrt(k) * sigma
    ell = np.sqrt(size + np.log(1 / delta))
    kappa = (1 - eta * gap / 16) ** t
    root = max(ell, 1152 * S * ell / (kappa * gap), 6144 * first * S * ell / gap**2)
    return root**2 / c_1
