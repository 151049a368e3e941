"""Sections 2 and 4, Appendices A and D: what models can represent, and Omniglot's counts."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from linrep.claims import Cases, Fact, Identity, Readings, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import ENUMERATED, PROVED
from linrep.papers.perfedsi._hypotheses import EXPLAINED, NORMAL_NOISE
from linrep.problems import BiasedRegression
from linrep.theory import perfedsi as theory

_CHARACTERS, _PER_CHARACTER, _ALPHABETS = 1623, 20, 50
#: Table 2: clients, and training and test samples of a character at a client.
_TABLE_2 = ((50, 16, 4), (200, 4, 1), (500, 1, 1))
#: Section 4: clients, and the mean number of training samples.
_MEANS = ((50, 519), (500, 32))


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
def table2(budget, rng, *, characters=_CHARACTERS):
    """Count: M/50 clients share an alphabet, each has all of its characters."""
    dealt, means = [], []
    for clients, training, test in _TABLE_2:
        shared = Fraction(clients, _ALPHABETS) * (training + test)
        dealt.append((abs(shared - _PER_CHARACTER), 0, {"M": clients}))
        mean = Fraction(characters * training, _ALPHABETS)
        for _, said in (row for row in _MEANS if row[0] == clients):
            means.append((abs(mean - said), 1, {"M": clients, "mean": float(mean)}))
    yield Cases(
        dealt, quantity="samples left", name="20 samples per character", strength=ENUMERATED
    )
    yield Cases(
        means,
        quantity="difference of the means",
        name="training samples per client",
        strength=ENUMERATED,
    )


def _mixed(hidden, rng) -> float:
    """Return the mixed difference of logits over two inputs and two values of the information."""
    g, w = rng.standard_normal((2, 3)), rng.standard_normal((2, 2))
    A, B, last = (rng.standard_normal(shape) for shape in ((4, 3), (4, 2), (3, 4)))

    def logits(i, j):
        inner = A @ g[i] + B @ w[j]
        return last @ (np.maximum(inner, 0.0) if hidden else inner)

    size = max(float(np.abs(logits(i, j)).max()) for i, j in product((0, 1), repeat=2))
    mixed = logits(0, 0) - logits(0, 1) - logits(1, 0) + logits(1, 1)
    return float(np.abs(mixed).max()) / max(size, np.finfo(float).tiny)


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
    count = budget(50, 500)
    yield Readings(
        [
            Identity(
                [(_mixed(layer, rng), {}) for _ in range(count)],
                1e-10,
                quantity="mixed difference of logits",
                name=name,
                strength="" if layer else PROVED,
            )
            for name, layer in zip(("one layer", "a hidden layer as well"), hidden, strict=True)
        ],
        name="logits are sums",
        phrase="a fully-connected NN with a final softmax layer",
    )


@statement(
    "perfedsi.one_hot",
    place="Appendix A, Personalized FL; Section 3",
    latex=r"z_m = e_m: \mathrm{Sum}(B^\top x \odot W^\top z_m) = \langle B^\top x, w_m\rangle",
    plain="With one-hot side information Model 2 with Sum is a shared representation with a head "
    "per client.",
    negative_control={"shift": 1},
)
def one_hot(budget, rng, *, shift=0):
    """Compare predictions; the control gives each client the next one's head."""
    cases = []
    for _ in range(budget(30, 300)):
        n, d, k = (int(size) for size in rng.integers(2, 7, size=3))
        B, W, x = (rng.standard_normal(shape) for shape in ((d, k), (n, k), (d,)))
        found = [np.sum((B.T @ x) * (W.T @ z)) for z in np.eye(n)]
        expected = np.roll(W, shift, axis=0) @ B.T @ x
        cases.append((relative(found, expected), {"n": n, "d": d, "k": k}))
    yield Identity(cases, 1e-10, name="predictions", strength=PROVED)


def _needed(Z, biases, d, noise, risk) -> list[int]:
    """Return the least samples per client for an expected risk: global, local bias, all local."""
    n = len(biases)
    alone = np.ones((1, 1)), biases[:1]

    def least(columns, values):
        m = 1
        while True:
            rows = len(values) * m
            enough = rows > columns.shape[1] + d + 1 and m > 1
            if enough and theory.bias_risk(columns, values, d=d, m=m, noise=noise) <= risk:
                return m
            m += 1

    return [least(Z, biases), least(np.eye(n), biases), least(*alone)]


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
        found = _needed(truth.Z, truth.biases, d, 1.0, risk)
        for fewer, more in pairwise(found):
            fewer, more = (more, fewer) if reverse else (fewer, more)
            cases.append((fewer, more, {"M": n, "d": d, "k": p, "risk": risk, "all": found}))
    yield Cases(cases, quantity="samples per client", name="samples grow with local parameters")
    yield Fact("samples per client, M = 20, d = 5, k = 3: all global", _example()[0])
    yield Fact("the same: a local bias", _example()[1])
    yield Fact("the same: all local", _example()[2])


def _example():
    """Return the three numbers of samples for an expected risk of 0.05."""
    truth = BiasedRegression.random(n=20, d=5, p=3, noise=1.0, rng=0)
    return _needed(truth.Z, truth.biases, 5, 1.0, 0.05)
