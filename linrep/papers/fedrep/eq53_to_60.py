"""(53) to (60), in the proof of Lemma 6: what becomes of the part outside span(B*)."""

import numpy as np
from numpy.linalg import norm
from scipy.linalg import null_space

from linrep.claims import everywhere, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import law
from linrep.claims.measurements import relative
from linrep.papers.fedrep import model
from linrep.problems.subspace import distance


@law(
    "fedrep.eq53_60",
    "(53)-(58), (60), in the proof of Lemma 6",
    r"\hat B_\perp^{*\top}\bar B^{t+1} = \hat B_\perp^{*\top}\hat B^t\big(I -"
    r"\tfrac{\eta}{rn}W^\top W\big) - \tfrac{\eta}{rn}\hat B_\perp^{*\top}\big(\tfrac1m"
    r"\mathcal A^\dagger\mathcal A(Q) - Q\big)^\top W, \quad \mathrm{dist}_{t+1} \le A_1 + A_2,"
    r"\ A_1 \le \mathrm{dist}_t\big\|I - \tfrac{\eta}{rn}W^\top W\big\|_2\|R^{-1}\|_2",
    over=model.Drawn(1e-9),
    wrong={"sign": 1.0},
    stronger={"sign": 0, "bound": -1},
)
def eq53_60(budget, rng, *, sign=-1.0, bound=1.0):
    """The next distance is at most that of the step at fixed heads plus an error, times the norm
    of R^-1.
    """
    for n, m, d, k in ((1, 3, 2, 1), (4, 6, 7, 2), (6, 2, 9, 3), (8, 20, 6, 4), (3, 1, 5, 2)):
        for _ in range(budget(4, 20, 100)):
            design = model.DESIGNS[rng.integers(len(model.DESIGNS))]
            truth, B = model.instance(n, d, k, rng, design=design)
            X, y = model.batch_of(truth, m, rng)
            # The displays are about any heads; the exact ones are those of the algorithm.
            exact = rng.random() < 0.5
            W = model.exact_heads(X, y, B) if exact else rng.standard_normal((n, k))
            eta = 10.0 ** rng.uniform(-2.0, 0.5)
            at = {"n": n, "m": m, "d": d, "k": k, "design": design, "eta": eta}
            Q, S, new = model.stepped(truth, B, W, X, eta)
            outside = null_space(truth.B.T).T
            R = np.linalg.qr(new)[1]
            if np.linalg.cond(R) > 1e6:
                continue
            inverse = np.linalg.inv(R)
            error = sign * eta / n * (S - Q).T @ W
            shrunk = np.eye(k) - eta / n * W.T @ W
            step = outside @ B @ shrunk + outside @ error
            largest = np.abs(W).max()
            scale = 1.0 + eta * np.abs(S).max() * largest + eta * largest**2
            yield "(53)", relative(B - eta / n * Q.T @ W + error, new, scale), at
            yield "(54)", relative(step, outside @ new, scale), at
            size = norm(inverse, 2)
            scale = scale * size
            yield "(55)", relative(step @ inverse, outside @ (new @ inverse), scale), at
            after = distance(new, truth.B)
            yield "dist is the norm of (55)", relative(norm(step @ inverse, 2), after, scale), at
            first, second = (norm(outside @ M, 2) * size for M in (B @ shrunk, error))
            for name, left, right in (
                ("(56)", after, first + second),
                ("(58)", second, norm(error, 2) * size),
                ("(60)", first, distance(B, truth.B) * norm(shrunk, 2) * size),
            ):
                yield name, float(left), float(bound * right + 1e-9 * scale), at


@statement(
    "fedrep.eq59",
    place="(59), in the proof of Lemma 6",
    latex=r"e^{-110 d} + e^{-110 k^2\log(rn)} \le e^{-110 d}",
    plain="Lemma 5, by which (59) follows, fails with probability at most e^(-110 d).",
    negative_control={"allowed": ("twice d",)},
)
def eq59(budget, rng, *, allowed=("d", "d and k^2 log(rn)")):
    """Compare the sum of Lemma 5's two probabilities with what a display allows, d = 4, rn = 2."""
    from flint import arb

    d, k, rn = 4, 1, 2
    one, other = arb(-110 * d).exp(), (-110 * k**2 * arb(rn).log()).exp()
    left = {"d": other, "d and k^2 log(rn)": arb(0), "twice d": other - one}
    parts = [
        everywhere(
            lambda probability=left[name]: probability, lambda: arb(0), {}, name=name,
            quantity="probability that is not allowed", strength=PROVED,
            setting={"d": d, "k": k, "rn": rn},
        )
        for name in allowed
    ]  # fmt: skip
    yield model.read_as(
        parts,
        name="probability of (59)",
        phrase="with probability at least 1 - e^(-110d) by Lemma 5",
        printed_elsewhere={"d and k^2 log(rn)": "(73), and Lemma 5"},
    )
