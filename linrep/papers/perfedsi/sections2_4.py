"""Sections 2 and 4, Appendices A and D: what models can represent, and Omniglot's counts."""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from linrep.claims import Cases, Identity, Readings, statement
from linrep.claims.evidence import ENUMERATED, PROVED
from linrep.claims.laws import Arrays, equal, law
from linrep.papers.perfedsi.model import EXPLAINED, NORMAL_NOISE
from linrep.problems import BiasedRegression
from linrep.theory import perfedsi as theory

#: Table 2: clients, and training and test samples of a character at a client.
TABLE_2 = ((50, 16, 4), (200, 4, 1), (500, 1, 1))
#: Section 4: the mean number of training samples, by the number of clients.
MEANS = {50: 519, 500: 32}


@statement(
    "perfedsi.table2",
    place="Table 2; Section 4, Omniglot",
    latex=r"\nu_{tr} + \nu_{ts} = 20 \cdot \frac{50}M;\quad \frac{1623\,\nu_{tr}}{50} = 519"
    r"\ (M = 50),\ 32\ (M = 500)",
    plain="Omniglot's 20 samples per character are all distributed, and clients have 519 or 32 "
    "training samples on average.",
    negative_control={"characters": 1600},
    stronger={"characters": 0},
)
def table2(budget, rng, *, characters=1623):
    """Count: M/50 clients share one of 50 alphabets, each has all of its characters."""
    dealt, means = [], []
    for clients, training, test in TABLE_2:
        shared = Fraction(clients, 50) * (training + test)
        dealt.append((abs(shared - 20), 0, {"M": clients}))
        if clients in MEANS:
            mean = Fraction(characters * training, 50)
            at = {"M": clients, "mean": float(mean)}
            means.append((abs(mean - MEANS[clients]), 1, at))
    name = "20 samples per character"
    yield Cases(dealt, quantity="samples left", name=name, strength=ENUMERATED)
    name = "training samples per client"
    yield Cases(means, quantity="difference of the means", name=name, strength=ENUMERATED)


def mixed(hidden, rng) -> float:
    """Return the mixed difference of logits over two inputs and two values of the information."""
    g, w = rng.standard_normal((2, 3)), rng.standard_normal((2, 2))
    A, B, last = (rng.standard_normal(shape) for shape in ((4, 3), (4, 2), (3, 4)))
    inner = (g @ A.T)[:, None] + (w @ B.T)[None]
    logits = (np.maximum(inner, 0.0) if hidden else inner) @ last.T
    difference = logits[0, 0] - logits[0, 1] - logits[1, 0] + logits[1, 1]
    return float(np.abs(difference).max() / np.abs(logits).max())


@statement(
    "perfedsi.eq3.bias",
    place="Section 2.1, after (3)",
    latex=r"H_{\theta_3}([G(x), W(z)]) = \sigma\big(H'(G(x)) + H''(W(z))\big)",
    plain="Where H is fully connected with a final softmax, concatenated side information is a "
    "bias of the logits.",
    negative_control={"hidden": (True, True)},
)
def eq3_bias(budget, rng, *, hidden=(False, True)):
    """Take mixed differences of logits: they vanish if and only if logits are such sums.

    H is one linear layer before the softmax, or has a hidden layer of ReLU.
    """
    count, parts = budget(50, 500), []
    for name, layer in zip(("one layer", "a hidden layer as well"), hidden, strict=True):
        cases: list = [(mixed(layer, rng), {}) for _ in range(count)]
        strength = "" if layer else PROVED
        quantity = "mixed difference of logits"
        parts.append(Identity(cases, 1e-10, quantity=quantity, name=name, strength=strength))
    phrase = "a fully-connected NN with a final softmax layer"
    yield Readings(parts, name="logits are sums", phrase=phrase)


@law(
    "perfedsi.one_hot",
    "Appendix A, Personalized FL; Section 3",
    r"z_m = e_m: \mathrm{Sum}(B^\top x \odot W^\top z_m) = \langle B^\top x, w_m\rangle",
    over=Arrays(B="dk", W="nk", x="d"),
    wrong={"shift": 1},
)
def one_hot(B, W, x, *, shift=0):
    """With one-hot side information Model 2 with Sum is a shared representation with a head
    per client.
    """
    found = np.array([np.sum((B.T @ x) * (W.T @ z)) for z in np.eye(len(W))])
    own = np.roll(W, shift, axis=0) @ B.T @ x
    # To which rounding is relative; both are between 1 and 3.
    size = np.max(np.abs(W) @ (np.abs(B.T) @ np.abs(x))) + np.finfo(float).tiny
    return equal(2.0 + found / size, 2.0 + own / size)


def least_samples(columns, values, d, risk) -> int:
    """Return the samples per client for an expected risk, biases being linear in columns."""
    m = 2
    while len(values) * m <= columns.shape[1] + d + 1 or (
        theory.bias_risk(columns, values, d=d, m=m, noise=1.0) > risk
    ):
        m += 1
    return m


@statement(
    "perfedsi.remark2.1",
    place="Remark 2.1",
    hypotheses=[EXPLAINED, NORMAL_NOISE],
    latex=r"m_\epsilon(\text{no local parameters}) \le m_\epsilon(\text{a local bias}) \le"
    r" m_\epsilon(\text{all local})",
    plain="The more parameters are local, the more samples per client are needed to learn them.",
    negative_control={"reverse": True},
)
def remark2_1(budget, rng, *, reverse=False):
    """Find the samples per client that least squares needs in Appendix B's regression, p < M.

    From the closed form of the expected risk for normal covariates, which the paper does not have.
    """
    cases = []
    for _ in range(budget(20, 200)):
        n = int(rng.integers(4, 40))
        d, p = int(rng.integers(1, 8)), int(rng.integers(1, min(n, 8)))
        risk = float(10.0 ** rng.uniform(-2, -0.5))
        truth = BiasedRegression.random(n=n, d=d, p=p, noise=1.0, rng=rng)
        # Of all that is global, a local bias, and all that is local.
        found = [
            least_samples(columns, truth.biases[: len(columns)], d, risk)
            for columns in (truth.Z, np.eye(n), np.ones((1, 1)))
        ]
        at = {"M": n, "d": d, "k": p, "risk": risk, "all": found}
        cases += [(*(pair[::-1] if reverse else pair), at) for pair in pairwise(found)]
    yield Cases(cases, quantity="samples per client", name="samples grow with local parameters")
