"""The number of local steps, which Theorem 1's bound does not have in it."""

from __future__ import annotations

from itertools import product

import numpy as np

from linrep.claims import Cases, Fact, statement
from linrep.claims.evidence import PROVED, UPPER, VALUE
from linrep.papers.pflmf.model import ASSUMPTIONS
from linrep.papers.pflmf.runs import RATIO, Bound
from linrep.theory import pflmf
from linrep.theory.pflmf_rounds import fixed_U_average


def setting(p, eta_L, K, K_power=1.0) -> pflmf.Setting:
    """Return h = L = 1 and eta_v = p eta/K^K_power."""
    return pflmf.Setting(p, K, eta_L, 1.0, 1.0, head_step_size=p * eta_L / float(K) ** K_power)


def exact_ratio(p, eta_L, K, T, K_power=1.0) -> float:
    """Return the V-part at K over that at K = 1, U fixed, h = L = 1, eta_v = p eta / K^K_power."""
    settings = (setting(p, eta_L, steps, K_power) for steps in (K, 1))
    many, one = (float(fixed_U_average(s, 1.0, 2.0, float(T))) for s in settings)
    return many / one


def fixed_U_pairs(s: pflmf.Setting, T: float) -> tuple[float, float]:
    """Return means over T rounds of E y_i^2 and of E y_i y_j for two clients; U fixed, h = 1.

    From U = I and V = 0 a client that took part in N rounds has v_i = (1 - x_i) a_i with x_i =
    (1 - eta_v h)^(K N), so that grad_U = -(1/n) sum_i y_i a_i a_i' with y_i = x_i (1 - x_i). All
    terms are geometric: E x^m = (1 - p + p rho^m)^t.
    """
    p, power = s.participation, s.local_steps * np.log1p(-s.head_step_size)
    lost = {m: -p * float(np.expm1(m * power)) for m in (1, 2, 3, 4)}  # 1 - E x^m after a round

    def mean(rate):
        return 1.0 / T if rate >= 1.0 else -np.expm1(T * np.log1p(-rate)) / (T * rate)

    def both(i, j):
        return mean(lost[i] + lost[j] - lost[i] * lost[j])

    same = mean(lost[2]) - 2.0 * mean(lost[3]) + mean(lost[4])
    return float(same), float(both(1, 1) - 2.0 * both(1, 2) + both(2, 2))


def exact_ratios_of_U(p, eta_L, K, T, K_power=1.0) -> tuple[float, float]:
    """Return what the U-part's ratio to K = 1 lies between, whatever the centres; h = L = 1."""
    many, one = (fixed_U_pairs(setting(p, eta_L, steps, K_power), T) for steps in (K, 1))
    return many[0] / one[0], many[1] / one[1]


@statement(
    "pflmf.K",
    place="Theorem 1, step sizes",
    latex=r"\eta_v = \frac{p\eta}K:\ \text{the bound is the same for every } K",
    plain="With eta_v = p eta/K one bound, without K, holds for every number of local steps.",
    hypotheses=ASSUMPTIONS,
    negative_control={"K_power": 2.0},
    stronger={"K_power": 1, "p_power": -1},
)
def number_of_steps(budget, rng, *, K_power=1.0, p_power=2.0):
    """Compare lhs and rhs of Theorem 1 over K; eta_v is p eta / K^K_power.

    Delta_V has the weight p^p_power, as the bound does not hold for small p at K = 1 either. At
    p = 1, which is among the p, it is the printed one.
    """
    bound, cases = Bound(p_power), []
    for p, K, eta_L, T in product(
        (1.0, 0.5, 0.1, 0.02, 1e-6),
        (1, 2, 5, 20, 200, 10_000, 10**60),
        (1e-3, 0.05, 0.25, 0.49),
        (1, 10, 200, 40_000, 10**12, 10**30),
    ):
        in_V = float(fixed_U_average(setting(p, eta_L, K, K_power), 1.0, 2.0, float(T)))
        ratio = bound.left(0.0, in_V, p) / float(bound.right(1.0, 1.0, eta_L, float(T)))
        cases.append((ratio, 1.0, {"p": p, "K": K, "eta L": eta_L, "T": T}))
    yield Cases(cases, quantity=RATIO, name="U fixed, exact", strength=PROVED)


@statement(
    "pflmf.K.averages",
    own=True,
    place="Theorem 1, step sizes: what its bound leaves open",
    latex=r"\eta_v = \frac{p\eta}K,\ q = p\eta L,\ U \text{ fixed},\ T \to \infty:\ "
    r"\Big|\log\frac{\text{average at }K}"
    r"{\text{average at }1}\Big| \le -\log\Big(1 - \frac q2\Big) \text{ for } \Delta_V,\quad"
    r" \frac q2 (1 + \eta L) \text{ for } \Delta_U",
    plain="With eta_v = p eta/K, U fixed and T large, averages are those of one local step up to "
    "order p eta L.",
    hypotheses=ASSUMPTIONS,
    negative_control={"K_power": 0.0},
    stronger={"K_power": 0, "share_V": -1, "share_U": -1},
)
def equal_averages(budget, rng, *, K_power=1.0, share_V=0.5, share_U=0.5):
    """Compare averages at K with those at K = 1; eta_v is p eta / K^K_power.

    The shares are the coefficients of q. With U fixed and T large all is exact.
    """
    cases: dict[str, list] = {"V": [], "U": []}
    for p, eta_L, K in product(
        (1.0, 0.9, 0.5, 0.1, 0.02),
        budget((0.05, 0.25, 0.49), (0.01, 0.05, 0.1, 0.25, 0.4, 0.49)),
        (2, 5, 20, 200),
    ):
        T, q = 1e6 / p**2, p * eta_L
        for name, ratios, allowed in (
            ("V", (exact_ratio(p, eta_L, K, T, K_power),), -np.log1p(-share_V * q)),
            ("U", exact_ratios_of_U(p, eta_L, K, T, K_power), share_U * q * (1.0 + eta_L)),
        ):
            at = {"p": p, "eta L": eta_L, "K": K, "T": T, "to K = 1": ratios}
            size = float(np.abs(np.log(np.maximum(ratios, 1e-300))).max())
            cases[name].append((size, float(allowed), at))
    for name, each in cases.items():
        yield Cases(
            each,
            quantity="|log of the ratio to K = 1|",
            name=f"{name}-part, U fixed, exact",
            measured_is=UPPER if name == "U" else VALUE,
        )
    reduced, at = exact_ratio(0.02, 0.25, 20, 1e9, 0.0), {"p": 0.02, "eta L": 0.25}
    yield Fact("V-part, K = 20 over K = 1, U fixed, eta_v = p eta", reduced, setting=at)
