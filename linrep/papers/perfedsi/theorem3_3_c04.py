"""Theorems C.4 and 3.3: rates of whole runs, and which step sizes they stand."""

import numpy as np

from linrep.claims import Cases, Fact, statement
from linrep.papers.perfedsi import runs
from linrep.papers.perfedsi.lemma_c11 import (
    CORRECTED,
    STRONGER,
    enumerated_rounds,
    in_fractions,
    promise,
    proof_of,
    slowest,
)  # fmt: skip
from linrep.papers.perfedsi.model import FRESH, RUNS
from linrep.theory import perfedsi as theory


def mean_loss(U, V):
    """Return the mean of both clients' losses, for d = r = 1 and M* = (1, 0)."""
    return 0.5 * ((U * V[:, 0] - 1.0) ** 2 + (U * V[:, 1]) ** 2)


def many_rounds(promise, rounds: int = 16):
    """Return the promised fall over the one that comes after many rounds, and 1.

    d = r = sigma_1 = c_z = 1, k = M = 2, z = (1, 1) and (1, -1): every sequence of participants is
    enumerated from U = 1, V = (1, 1/1000). Steps are a thousandth of the largest, so that c = 1.001
    is enough.
    """
    setting = theory.Setting(d=1, p=2, k=1, c=1.001, mu=1.001)
    step_size, promised = (share / 1000.0 for share in promise(setting))
    U, V = np.ones(1), np.array([[1.0, 1e-3]])
    first = mean_loss(U, V)[0]
    for _ in range(rounds):
        after = []
        for sign in (1.0, -1.0):
            v = V[:, 0] + sign * V[:, 1]
            x = step_size * (U * v - 1.0)
            after.append((U - x * v, V - np.outer(x * U, [1.0, 1.0]) * [1.0, sign]))
        U, V = (np.concatenate(parts) for parts in zip(*after, strict=True))
    fall = 1.0 - mean_loss(U, V).mean() / first
    return (rounds - 1) * promised / fall, 1.0, {"c": 1.001, "d": 1, "k": 2, "M": 2, "T": rounds}


def implied(rng, powers):
    """Yield what the limit of the step size allows at the constants of small steps, and runs do."""
    setting = runs.cell()
    state = runs.state_of(setting, rng)
    largest = runs.largest_step(state, setting, rng)
    numbers = state.setting(runs.measured_limits(state, setting, 0.01 * largest, rng))
    limit, fall = promise(numbers, setting["tau"], powers)
    rounds = f"rounds to {runs.TARGET:g}"
    yield Fact("step size allowed at the constants of small steps", limit)
    yield Fact("largest stable step size", largest)
    yield Fact(f"{rounds} that the bound implies", np.log(1.0 / runs.TARGET) / fall)
    yield Fact(f"{rounds} at tuned steps", runs.tuned_rounds(state, setting, rng))


def rate_of(state, setting, rng) -> float:
    """Return the decay at eta tau = 0.1, or what the setting has."""
    return runs.decay(state, setting, setting.get("eta tau", 0.1) / setting["tau"], rng)


@statement(
    "perfedsi.theoremC4",
    place="Theorem C.4, (15)",
    hypotheses=RUNS,
    latex=r"\eta \le \frac{\sigma_r}{132k^{3/2}r\tau\mu^2\sigma_1^2c^5c_z^4} \Rightarrow"
    r" E[\mathcal L(U_T, V_T)1_{\mathcal G_{T-1,\tau}}] \le \Big(1 -"
    r" \frac{\eta\tau\sigma_r}{2cc_z^3dk}\Big)^{T-1}\mathcal L(U_0, V_0)",
    plain="PerFedSI converges linearly in expectation where its iterates stay regular.",
    negative_control={"d_power": 2.0, "orders": True},
)
def theorem_c4(
    budget, rng, *, c_power=1.0, condition_power=0.0, limit_power=5.0, c_z_power=3.0, rate=0.5,
    limit=132.0, with_p=True, d_power=1.0, orders=True,
):  # fmt: skip
    """Check it from unbalanced states by enumeration, and with orders its exponents by runs.

    Powers are those of 1/c and sigma_r/sigma_1, and of 1/c in eta; with_p has k in the rate.
    """
    powers = {
        "c_power": c_power, "condition_power": condition_power, "limit_power": limit_power,
        "c_z_power": c_z_power, "rate": rate, "limit": limit, "with_p": with_p,
    }  # fmt: skip
    yield enumerated_rounds(budget, powers)
    yield in_fractions(powers, rounds=2)
    yield slowest(powers, rounds=2, name="slowest rounds, T = 2")
    case = many_rounds(lambda setting: promise(setting, 1, powers))
    options = {"name": "T = 16", "strength": proof_of(powers)}
    yield Cases([case], quantity="promised over measured fall of L", **options)
    if orders:
        for key, variable, values, power in (
            ("d", "d", (8, 16, 32, 64), -d_power),
            ("tau", "tau at fixed eta tau", (5, 20, 100), 0.0),
            ("C", "C", (1, 2, 4, 8), 0.0),
            ("eta tau", "eta tau", (0.025, 0.05, 0.1, 0.2), 1.0),
        ):
            yield runs.along(
                "rate", rate_of, power, budget(24, 120, 240), rng, key=key, variable=variable,
                values=values, side="isometric",
            )  # fmt: skip
    yield from implied(rng, powers)


theorem_c4.corrected(
    "perfedsi.theoremC4.corrected",
    latex=r"\eta \le \frac{\sigma_r^2}{132k^{3/2}r\tau\mu^2\sigma_1^3c^7c_z^4},\ "
    r"c_0 \le \frac1{32cc_z^2} \Rightarrow E[\mathcal L(U_T, V_T)1_{\mathcal G_{T-1,\tau}}]"
    r" \le \Big(1 - \frac{\eta\tau\sigma_r^2}{2c^2\sigma_1c_z^3d}\Big)^{T-1}\mathcal L(U_0, V_0)",
    plain="PerFedSI converges linearly near the truth, at a rate like sigma_r^2/(c^2 sigma_1).",
    constants=CORRECTED | {"with_p": False, "orders": False},
    negative_control={"c_power": 1.0, "condition_power": 0.0},
    stronger=STRONGER,
)


def rounds_at_such_steps(state, setting, rng) -> float:
    """Return the rounds at a step size as Theorem 3.3 has it, stable at all sizes."""
    step_size = 2.0 / (setting["p"] ** 1.5 * setting["k"] * setting["tau"])
    return float(np.log(1.0 / runs.TARGET) / runs.decay(state, setting, step_size, rng))


@statement(
    "perfedsi.theorem3.3",
    place="Theorem 3.3, (6); the rounds: the paragraph after it",
    latex=r"\eta = O\Big(\frac1{k^{3/2}r\tau}\Big) \Rightarrow E[\mathcal L(U_T, V_T)"
    r"1_{\mathcal G_{T-1,\tau}}] \le \Big(1 - \frac{c'\eta\tau}{d}\Big)^{T-1}\mathcal L(U_0, V_0);"
    r"\quad \text{after it: } T = O\big(dk^{3/2}r\log\tfrac1\epsilon\big)",
    plain="At steps of order 1/(k^(3/2) r tau), d k^(3/2) r log(1/eps) rounds suffice, from starts "
    "near the truth (c_0 small).",
    hypotheses=(*RUNS, FRESH),
    negative_control={"d_power": 0.5},
    stronger={"d_power": 0, "p_power": -1},
)
def theorem_3_3(budget, rng, *, d_power=1.0, p_power=1.5):
    """Enumerate (6) from both kinds of starts; count rounds to 1e-6 at such steps, and at tuned.

    c' is that of the corrected Theorem C.4. At steps like 1/(k^(3/2) r tau) the exponents in k and
    r are those of the step, as long as it is stable: only tuned steps decide on them.
    """
    many, few = budget(20, 40, 120), budget(5, 70, 200)
    sizes = budget((16, 32, 64, 128), (16, 32, 64, 128, 256))
    yield enumerated_rounds(budget, CORRECTED | {"with_p": False}, "(6)")
    for key, values, power in (
        ("d", sizes, d_power),
        ("tau", budget((1, 5, 25), (1, 3, 10, 30, 100)), 0.0),
        ("C", (1, 2, 4, 8), 0.0),
    ):
        name = "rounds, eta like 1/(k^{3/2} r tau)"
        yield runs.along(
            name, rounds_at_such_steps, power, many, rng, key=key, values=values, side="isometric"
        )
    for key, variable, values, power in (
        ("d", "d", sizes, d_power),
        ("p", "k", budget((2, 4, 8), (2, 4, 8, 16, 32)), p_power),
        ("k", "r", (1, 2, 4), 1.0),
    ):
        yield runs.along(
            "rounds, tuned eta", runs.tuned_rounds, power, few, rng, key=key, variable=variable,
            values=values, at_most=True,
        )  # fmt: skip
