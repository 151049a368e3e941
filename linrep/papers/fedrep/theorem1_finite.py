"""Theorem 1 at finite size: all rounds at once, a horizon with noise, and higher moments."""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from linrep import algorithms
from linrep.claims import Cases, Fact, Frequency, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines
from linrep.papers.fedrep.model import GAUSSIAN
from linrep.problems import ImplicitRepresentation
from linrep.theory import finite, finite_bounds

CLAIM = "fedrep.theorem1.finite"
#: Sizes of searched rounds, smallest first: one client, m = k + 2, d < 2k among them.
_SHAPES = [
    {"n": 1, "N": 1, "d": 2, "k": 1, "m": 3}, {"n": 3, "N": 1, "d": 3, "k": 2, "m": 4},
    {"n": 3, "N": 2, "d": 7, "k": 2, "m": 5}, {"n": 4, "N": 4, "d": 40, "k": 2, "m": 7},
    {"n": 2, "N": 2, "d": 6, "k": 3, "m": 25},
]  # fmt: skip
#: Near B*, copies of orthogonal heads: clients, participants, d, k, m, and the step.
_NEAR = [
    (10, 1, 10, 2, 5, 0.25), (20, 2, 10, 2, 5, 0.9), (12, 12, 9, 3, 9, 0.5),
    (6, 1, 8, 1, 4, 1.0),
    (6, 3, 500, 2, 4, 0.1),
]  # fmt: skip
_SINE = 1e-4
#: Runs: clients, participants, d, k, m, d_1, s_0/d_1, noise, moment. Heads are normal.
_RUNS = [
    (1, 1, 3, 1, 3, 0.9, 0.6, 0.0, 2), (10, 1, 10, 2, 5, 0.5, 0.5, 0.0, 2),
    (6, 3, 5, 1, 4, 0.8, 0.7, 0.0, 2),
]  # fmt: skip
_NOISY = [(10, 10, 6, 2, 6, 0.8, 0.3, 0.1, 2), (6, 2, 5, 1, 9, 0.9, 0.2, 0.3, 2)]
_OTHER_MOMENTS = [
    (100, 100, 10, 2, 200, 0.95, 0.9, 0.0, 24), (100, 20, 10, 1, 8, 0.7, 0.5, 0.0, 4),
    (20, 4, 10, 1, 8, 0.1, 0.5, 0.0, 4),
]  # fmt: skip
_ROUNDS = 40


class Round(NamedTuple):
    """A round: heads, sizes, sines of the principal angles, d_1, the step, and the noise."""

    W: np.ndarray
    N: int
    d: int
    m: int
    sines: np.ndarray
    within: float
    step_size: float
    noise: float = 0.0


def allowed(at, *, own=1.0, left_out=1.0, pairs=1.0, cosine=1.0, added=1.0):
    """Return rho^2 and b of the statement at a round."""
    (n, k), N, m, sigma2 = at.W.shape, at.N, at.m, at.noise**2
    lengths = np.sum(at.W**2, axis=1)
    values = np.linalg.eigvalsh(at.W.T @ at.W / n)
    fourth = np.linalg.eigvalsh((at.W.T * lengths) @ at.W / n)[-1]
    p, nu, both = at.d - k, m - k, (N - 1) / (n - 1) if n > 1 else 1.0
    h, scale = at.step_size * nu / m, at.step_size**2 * nu / (N * m**2)
    ends = h * np.array([(1.0 - cosine * at.within**2) * max(values[0], 0.0), values[-1]])
    drift = np.max(1.0 - 2.0 * ends + pairs * both * n / N * ends**2)
    g = own * (p + 1) + left_out * nu * (1.0 - both)
    far = at.within**2 * max(k * (p + nu + 1) / ((nu - 1) * g) - 1.0, 0.0)
    slope = k * (nu + 1) / (nu - 1) + p * max(2.0 * k / (nu - 1) - 1.0, 0.0)
    rho2 = drift + scale * (g * fourth * (1.0 + far) + sigma2 * values[-1] * slope)
    b = added * scale * p * sigma2 * (lengths.mean() + k * sigma2 / (nu - 1))
    return float(rho2), float(b)


def mean_and_bound(at, **constants):
    """Return the mean of s^2 after a round, before the QR factorization, and its bound.

    The factorization only shrinks s. Turning B and B* within their spans changes nothing but the
    heads, which are any.
    """
    C, E = np.diag(np.sqrt((1.0 - at.sines) * (1.0 + at.sines))), np.diag(at.sines**2)
    found = finite.round_moments(
        at.W, C, E, d=at.d, m=at.m, step_size=at.step_size, participants=at.N, noise=at.noise
    )
    rho2, b = allowed(at, **constants)
    return float(np.trace(found.outside)), rho2 * float(np.sum(at.sines**2)) + b


def read(reader, shape, noisy=False):
    """Return the round that numbers stand for, None where its heads or sines are nearly 0."""
    k, d, m = shape["k"], shape["d"], shape["m"]
    W, within = reader.numbers(shape["n"], k), reader.share()
    sines = within * np.array([reader.share() for _ in range(k)])
    sines[d - k :] = 0.0
    step, noise = reader.between(-6.0, 1.0), reader.between(-6.0, 1.0)
    high = np.linalg.norm(W, 2) ** 2 / shape["n"]
    if high < 1e-6 or not 1e-3 < within < 0.9999 or np.sum(sines**2) < 1e-8:
        return None
    step = math.exp(step) * m / ((m - k) * high)
    noise = math.exp(noise) * math.sqrt(high) if noisy else 0.0
    return Round(W, shape["N"], d, m, sines, within, step, noise)


def near(noise=0.0):
    """Yield rounds at which the bound is met: near B*, at it with noise, and short ones of many."""
    for n, N, d, k, m, step in _NEAR:
        W = math.sqrt(k) * np.eye(k)[np.arange(n) % k]
        if noise:
            yield Round(W, N, d, m, np.zeros(k), _SINE, 0.01 * step, noise)
        else:
            yield Round(W, N, d, m, np.full(k, _SINE), _SINE, step)
    if not noise:
        yield Round(np.ones((1000, 1)), 1000, 2, 1001, np.array([0.5]), 0.5, 0.01)


def where_it_is_met(constants, noise=0.0):
    """Return rounds there, of which means and bounds are exact, and the smallest ratio of both."""
    found = [
        (*mean_and_bound(at, **constants), at._asdict() | {"W": at.W[:6]}) for at in near(noise)
    ]
    cases = [(left, right * (1.0 + 1e-9), at) for left, right, at in found]
    smallest = min(left / right for left, right, _ in found)
    return (
        Cases(cases, name="where it is met", quantity="mean of s^2", strength=PROVED),
        Fact("smallest mean over its bound where it is met", smallest),
    )


def run_out(setting, runs, rng, rate, strength=PROVED):
    """Return how many runs leave the bound in any round, and how many may.

    Of runs it is the largest sine that is known, which is at most s, and is s for k = 1. The rate
    is rho and b of a problem at a step.
    """
    n, N, d, k, m, within, ratio, noise, moment = setting
    W = rng.standard_normal((n, k))
    step, truth = 0.5 * n / np.linalg.norm(W, 2) ** 2, ImplicitRepresentation(W, d, noise)
    while rate(truth, setting, step)[0] > 1.0:
        step /= 1.2
    (rho, b), start = rate(truth, setting, step), ratio * within
    bound = within * (np.ones(_ROUNDS + 1) if noise else rho ** np.arange(_ROUNDS + 1))
    may = min(1.0, ratio**moment + _ROUNDS * b / within**2)
    distances = [
        algorithms.fedrep(
            truth, m=m, rounds=_ROUNDS, step_size=step, batches="gram", participation=N / n,
            start=start / k ** (1.0 / moment), rng=rng,
        )["distance"]
        for _ in range(runs)
    ]  # fmt: skip
    names = ("n", "N", "d", "k", "m", "d1", "s0/d1", "noise", "q")
    setting = {**dict(zip(names, setting, strict=True)), "rho": rho}
    name = f"n={n}, N={N}, d={d}, k={k}, m={m}, q={moment}, noise={noise}"
    return Frequency.of_runs(distances, bound, at_most=may, name=name, setting=setting,
                             strength=strength)  # fmt: skip


def second_moment(constants):
    """Return the rate of q = 2 as a function of a problem, a setting and a step."""

    def rate(truth, setting, step):
        _, N, d, k, m, within, _, noise, _ = setting
        at = Round(truth.W, N, d, m, np.zeros(k), within, step, noise)
        rho2, b = allowed(at, **constants)
        return math.sqrt(rho2), b

    return rate


ANY = (0, None)
SHARE = (0, 1)


# Steps of the derivation: v is m - k, a = w'Cw, t = tr A.


@lines(CLAIM, Region(
    v=(2, None), p=(1, None), both=SHARE, q=ANY, a=lambda q: (0, q), t=lambda p: (0, p),
), steps=["one client", "its error"])  # fmt: skip
def variance(v, p, both, q, a, t):
    """Bound what a client adds along its head, and along its head's error."""
    return {
        "one client": at_most((v + 1 - both * v) * a + q * t, q * (p + 1 + v * (1 - both))),
        "its error": at_most((v + 1) * a + q * t, q * (p + v + 1)),
    }


@lines(CLAIM, Region(
    g=(Open(0), None), w=ANY, D=(0, 1), q=lambda w, D: (0, D * w), c=ANY,
    other=lambda g, c: (0, g * (1 + c)),
), steps=["both"])  # fmt: skip
def together(g, w, D, q, c, other):
    """Add up the two, D being d_1^2 and other the second's factor."""
    return {"both": at_most(g * (w - q) + other * q, g * w * (1 + D * c))}


@lines(CLAIM, Region(low=ANY, high=lambda low: (low, None), x=SHARE, pairs=ANY),
       steps=["drift"])  # fmt: skip
def drift(low, high, x, pairs):
    """Bound the part without variance by its ends, where it is convex."""
    mu = low + x * (high - low)
    ends = (1 - x) * (1 - 2 * low + pairs * low**2) + x * (1 - 2 * high + pairs * high**2)
    return {"drift": at_most(1 - 2 * mu + pairs * mu**2, ends)}


@lines("fedrep.theorem1.noise", Region(
    p=(1, None), t=lambda p: (0, p), w=ANY, q=lambda w: (0, w), c=ANY,
    x=lambda c: (0, (1 + c) / 2),  # k/(v - 1)
    s=ANY, b=ANY, rho=SHARE, left=ANY,
), steps=["noise", "horizon"])  # fmt: skip
def with_noise(p, t, w, q, c, x, s, b, rho, left):
    """Bound what is linear in sigma^2 and in t, and what is left of the horizon."""
    return {
        "noise": at_most(t * (w - q) + 2 * x * t * q, p * w + p * c * q),
        "horizon": at_most(rho * s + b + left * b, s + (left + 1) * b),
    }


@lines("fedrep.theorem1.moments", Region(
    w=ANY, D=(0, 1), e=lambda w, D: (0, D * w), c=ANY, x=lambda c: (0, 1 + c),  # (q - 1) H^2
), steps=["head"])  # fmt: skip
def length(w, D, e, c, x):
    """Bound the q-norm of a head."""
    return {"head": at_most(w - e + x * e, w * (1 + D * c))}


@statement(
    "fedrep.theorem1.finite",
    own=True,
    place="Theorem 1",
    latex=r"x \sim N(0, I),\ \sigma = 0,\ \nu = m - k \ge 2,\ s_t^2 = \text{sum of squared "
    r"sines},\ s_0 < d_1 < 1,\ \rho \le 1 \implies "
    r"\Pr\big[\forall t: s_t < \rho^t d_1\big] \ge 1 - \frac{s_0^2}{d_1^2}, \quad "
    r"\rho^2 = \max_{\mu \in \{(1 - d_1^2)\lambda_{\min}, \lambda_{\max}\}}(1 - 2h\mu + \alpha "
    r"h^2\mu^2) + \frac{\eta^2\nu g\Lambda}{N m^2}\Big(1 + d_1^2\Big(\frac{k(p + \nu + 1)}"
    r"{(\nu - 1) g} - 1\Big)_+\Big),\quad N = rn,\ p = d - k,\ h = \tfrac{\eta\nu}m,\ \alpha = "
    r"\tfrac{\beta n}N,\ g = p + 1 + \nu(1 - \beta),\ \beta = \tfrac{N - 1}{n - 1}\ "
    r"(1 \text{ for } n = 1),\ \lambda \text{ of } "
    r"\tfrac1n\sum w_i^*w_i^{*\top},\ \Lambda = \lambda_{\max}\big(\tfrac1n\sum \|w_i^*\|^2 "
    r"w_i^*w_i^{*\top}\big)",
    plain="For normal covariates all rounds at once stay below a bound that contracts at a rate "
    "that is exact near B*, with m from k + 2 on and any number of participants (derived here, not "
    "in the paper).",
    hypotheses=(GAUSSIAN,),
    corrects="fedrep.theorem1",
    stronger=dict.fromkeys(("own", "left_out", "pairs", "cosine"), -1),
    negative_control={"own": 0.5},
)
def theorem1_finite(budget, rng, *, own=1.0, left_out=1.0, pairs=1.0, cosine=1.0):
    """Compare exact means of rounds with the bound, where it is met and searched; count runs."""
    constants = dict(own=own, left_out=left_out, pairs=pairs, cosine=cosine)
    met, smallest = where_it_is_met(constants)
    yield met
    yield search_instances(
        lambda at: mean_and_bound(at, **constants), _SHAPES, read, budget, rng,
        name="a round", strength=PROVED,
    )  # fmt: skip
    for setting in _RUNS:
        yield run_out(setting, budget(300, 1000, 4000), rng, second_moment(constants))
    yield smallest


@statement(
    "fedrep.theorem1.noise",
    own=True,
    place="Theorem 1",
    latex=r"x \sim N(0, I),\ s_0 < d_1 < 1,\ \rho_\sigma \le 1 \implies \Pr\big[\exists t \le T:\ "
    r"\mathrm{dist}_t > d_1\big] \le \frac{s_0^2 + Tb}{d_1^2}, \quad \rho_\sigma^2 = \rho^2 + "
    r"\frac{\eta^2\nu\sigma^2\lambda_{\max}}{N m^2}\Big(\frac{k(\nu + 1)}{\nu - 1} + p\Big("
    r"\frac{2k}{\nu - 1} - 1\Big)_+\Big),\quad b = \frac{\eta^2\nu p\sigma^2}{N m^2}\Big("
    r"\mathrm{tr}\,\tfrac1n\sum w_i^*w_i^{*\top} + \frac{k\sigma^2}{\nu - 1}\Big), \quad \rho, "
    r"\nu, p, N, s, \lambda \text{ of } \text{fedrep.theorem1.finite}",
    plain="With noise a run stays within a distance over a horizon, except with a probability that "
    "grows by what noise adds in a round (derived here, not in the paper).",
    hypotheses=(GAUSSIAN,),
    stronger={"added": -1},
    negative_control={"added": 0.5},
)
def theorem1_noise(budget, rng, *, added=1.0):
    """Compare exact means of rounds with noise with the bound, and count runs that leave d_1."""
    constants = {"added": added}
    met, smallest = where_it_is_met(constants, noise=0.5)
    yield met
    yield search_instances(
        lambda at: mean_and_bound(at, **constants), _SHAPES, partial(read, noisy=True), budget, rng,
        name="a round", strength=PROVED,
    )  # fmt: skip
    for setting in _NOISY:
        yield run_out(setting, budget(300, 1000, 4000), rng, second_moment(constants))
    yield smallest


@statement(
    "fedrep.theorem1.moments",
    own=True,
    place="Theorem 1",
    latex=r"x \sim N(0, I),\ \sigma = 0,\ q \text{ even},\ m \ge k + q,\ s_t^q = \text{sum of "
    r"q-th powers of the sines},\ s_0 < d_1 < 1,\ \rho_q \le 1 \implies \Pr\big[\forall t: "
    r"s_t < \rho_q^t d_1\big] \ge 1 - \Big(\frac{s_0}{d_1}\Big)^q, \quad \rho_q^2 = \theta^2 "
    r"+ (q - 1)\frac{\eta^2 L}{N m^2}\big(c^2 + 4^{1 - 2/q}\nu^2 1_{N < n}\big),\quad \theta "
    r"= \max(1 - h(1 - d_1^2)\lambda_{\min}, h\lambda_{\max} - 1),\ c = G\big(1 + d_1^2((q - "
    r"1)H^2 - 1)_+\big)^{1/2} + \nu H d_1,\ G^2 = \|\chi^2_\nu - \nu\|_q^2 + "
    r"\|\chi_\nu\|_q^2\|\chi_{p - 1}\|_q^2,\ H^q = E\chi_k^q E\chi_{\nu + 1}^{-q},\ L^{q/2} = "
    r"\lambda_{\max}\big(\tfrac1n\sum \|w_i^*\|^{2q - 2}w_i^*w_i^{*\top}\big),\ \|X\|_q^q = "
    r"E|X|^q,\ \chi \text{ independent, } \chi_{-1} = 0, \quad h, \nu, p, N, \lambda \text{ "
    r"of } \text{fedrep.theorem1.finite}",
    plain="For normal covariates all rounds at once contract, except with a probability like a "
    "power of the start's distance, from every start with dist < 1 if samples are enough and steps "
    "short (derived here, not in the paper).",
    hypotheses=(GAUSSIAN,),
    negative_control={"spread": 0.0},
)
def theorem1_moments(budget, rng, *, spread=1.0):
    """Count runs; the spread multiplies what rho_q^2 has beside theta^2, which is not sharp."""

    def rate(truth, setting, step):
        _, N, _, k, m, within, _, _, moment = setting
        rho = finite_bounds.contraction(
            truth, m=m, step_size=step, within=within, participation=N / truth.n, moment=moment
        )
        ends = step * (m - k) / m * np.linalg.eigvalsh(truth.W.T @ truth.W / truth.n)[[0, -1]]
        theta = max(1.0 - (1.0 - within**2) * ends[0], ends[1] - 1.0)
        return math.sqrt(theta**2 + spread * (rho**2 - theta**2)), 0.0

    for setting in _OTHER_MOMENTS:
        yield run_out(setting, budget(300, 1000, 4000), rng, rate, "")
