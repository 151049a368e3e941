"""Observations B.2 and B.3: what minimizers of (54) look like, features being free."""

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.linalg import norm

from linrep.claims import Cases, Fact, Identity, statement
from linrep.claims.evidence import FAILS, PROVED
from linrep.claims.laws import Arrays, equal, law
from linrep.claims.measurements import relative
from linrep.papers.flute.appendix_b import cosine, minimum, normalized, target
from linrep.papers.flute.counterexamples import observationb2 as unequal
from linrep.papers.flute.counterexamples import observationb3 as simplex
from linrep.papers.flute.counterexamples import observationb3_minimizer as without_class

DESCENT = 1e-6


def within_class(F):
    """Return how far samples of one class are from each other, relative to their length."""
    return float(np.abs(F - F.mean(axis=-1, keepdims=True)).max() / np.abs(F).max())


@statement(
    "flute.observationB2",
    place="Observation B.2, (55)-(57)",
    latex=r"(B^*, H^*_i) \text{ optimal for (54)} \Rightarrow f_{B^*}(x_1) = f_{B^*}(x_2),\quad"
    r" \cos(f_{B^*}(x), h^*_{i,c}) = 1,\quad (57)",
    plain="For a client that trains alone, features collapse to class means, and heads to a "
    "simplex, each parallel to its class's feature.",
    negative_control={"classes": 1},
    expected=FAILS,
)
def observation_B2(budget, rng, *, classes=0, equal=False, threshold=1.0):
    """Minimize (54) of a client with as many samples of each class, or compute what is left.

    `classes` are those that (57) has beyond the client's. Where penalties are so large that heads
    are 0 at the minimum, they have no angles.
    """
    if not equal:
        where = {"m = m'": 3, "shares of the classes": list(map(str, unequal.SHARES))}
        yield Cases(
            [(*unequal.sides(), where)], name="(54)-(57) together, classes of unequal size",
            quantity="slope along h_2 - h_3 that is left",
        )  # fmt: skip
    within, aligned, gram = [], [], []
    for m, own in ((3, 2), (3, 3), (4, 3), (5, 4))[: budget(3, 4)]:
        small = float(rng.uniform(0.002, 0.02)), float(rng.uniform(0.002, 0.02))
        # The largest allowed, nearly: 4 m' lambda_1 lambda_2 < 1.
        large = (0.98 * float(threshold / (4.0 * own)) ** 0.5,) * 2
        for decay in (small, large):
            F, H = (each[0] for each in minimum([list(range(own))], m, 2, decay, rng))
            where = {"m": m, "m'": own, "lambda_1": decay[0], "lambda_2": decay[1]}
            if norm(H) < 1e-3:
                gram.append((np.inf, where))
                continue
            within.append((within_class(F), where))
            aligned += [
                (1.0 - cosine(F[:, c, r], H[:, c]), where) for c in range(own) for r in range(2)
            ]
            mask = (np.arange(m) < own).astype(float)
            gram.append((relative(normalized(H), target(mask, own + classes)), where))
    yield Identity(within, DESCENT, name="(55)", strength=PROVED)
    yield Identity(aligned, DESCENT, name="(56)", quantity="1 - cosine", strength=PROVED)
    yield Identity(gram, DESCENT, name="(57)", strength=PROVED)


observation_B2.corrected(
    "flute.observationB2.corrected",
    latex=r"|\mathcal D_i^c| \text{ equal},\ 4m'\lambda_1\lambda_2 < 1:\quad f_{B^*}(x_1) ="
    r" f_{B^*}(x_2),\quad \cos(f_{B^*}(x), h^*_{i,c}) = 1,\quad (57)",
    plain="For a client that trains alone with classes of equal size and small penalties, features "
    "collapse to class means, and heads to a simplex, each parallel to its class's feature.",
    constants={"equal": True},
    negative_control={"classes": 1},
    stronger={"threshold": 1},
)


@statement(
    "flute.observationB3",
    place="Observation B.3, (58) and (59), and the text after it",
    latex=r"f_{B^*}(x_1) = f_{B^*}(x_2),\quad \cos(f_{B^*}(x), h^*_{i,c}) = 1,\quad"
    r" \cos(h^*_{i,c}, h^*_{j,c}) = 1",
    plain="At minima over all clients, all heads of a class are parallel to its feature.",
    negative_control={"shrink": 0.9},
    holds_with={"parts": ("(58)", "all classes at every client")},
)
def observation_B3(budget, rng, *, parts=("(58)", "(59)", "all classes at every client"), shrink=1):
    """Minimize (54) over all clients, and compute the angles at Figure 2's minimum exactly.

    Where every client has all classes (59) is that of Observation B.2.
    """
    decay, clients = (0.005, 0.005), [[0, 1], [0, 2], [1, 2]]
    F, H = minimum(clients, 3, 2, decay, rng)
    where = {"M": 3, "m": 3, "m'": 2, "classes": clients}
    if "(58)" in parts:
        yield Identity([(within_class(F), where)], DESCENT, name="(58)", strength=PROVED)
    if "(59)" in parts:  # features are a simplex of three classes
        claimed, found = simplex.sides()
        for name, square in (
            ("(59): a feature and its head", found),
            ("two clients' heads of one class, in the text", simplex.between_heads()),
        ):
            quantity = "square of the cosine claimed"
            yield Cases([(claimed, square, where)], name=name, quantity=quantity)
    if "all classes at every client" in parts:
        whole, heads = minimum([[0, 1, 2]] * 2, 3, 2, decay, rng)
        same = [
            (1.0 - shrink * cosine(whole[i, :, c, r], heads[i][:, c]), {"m": 3, "m'": 3})
            for i, c, r in product(range(2), range(3), range(2))
        ]
        name = "(59) where every client has all classes"
        yield Identity(same, DESCENT, name=name, quantity="1 - cosine", strength=PROVED)
    F, H = minimum(clients, 3, 1, decay, rng, every=True)
    for name, pair in (
        ("a feature and its head", (F[0, :, 0, 0], H[0][:, 0])),
        ("two clients' heads of a class", (H[0][:, 0], H[1][:, 0])),
    ):
        yield Fact(f"cosine of {name}, no biases, all classes in every loss", cosine(*pair))


@law(
    "flute.observationB2.clients", "Appendix B.3, after Observation B.2",
    r"(B^*, H_i^*) \text{ optimal for all } i:\quad x \in \mathcal D_1^c,\ x' \in"
    r" \mathcal D_2^c,\ f_{B^*}(x) \ne f_{B^*}(x') \text{ possible}",
    over=Arrays(F="kn", H="km", X="kk"), wrong={"stretch": 1.1}, stronger={"stretch": 0},
)  # fmt: skip
def apart(F, H, X, *, stretch=1.0):
    """A representation that is best for each client may map one class to other points at each."""
    # Features and heads of one of the clients are turned, which its loss does not notice.
    turn = np.linalg.qr(X)[0]
    features, heads = turn @ F, float(stretch) * turn @ H
    size = norm(H) * norm(F)
    return {
        "logits": equal(size + norm(heads.T @ features - H.T @ F), size),
        "penalties": equal(np.array([norm(features), norm(heads)]), np.array([norm(F), norm(H)])),
    }


@apart.also
def a_quarter_turn(budget, rng, *, stretch=1.0):
    """Turn the feature (1, 0) into (0, 1)."""
    yield Cases(
        [(Fraction(0), Fraction(2), {"f": [1, 0], "turned": [0, 1]})], name="features apart",
        quantity="square of the distance claimed to be possible, from below", strength=PROVED,
    )  # fmt: skip


@statement(
    "flute.observationB3.minimizer",
    place="Observation B.3, its global optimizer",
    latex=r"m' < m:\quad \exists\,(B^*, H^*, b^*) \text{ that minimizes (54)}",
    plain="With classes that a client lacks, (54) has a global optimizer.",
    negative_control={"lacking": 1},
    holds_with={"lacking": 0},
    expected=FAILS,
)
def minimizer(budget, rng, *, lacking=1):
    """Lower the bias of a class that the client lacks, which is not penalized.

    The probability of the right class rises for all its samples, whatever the other numbers are:
    the least value is not attained. With `lacking` 0 there is no such class.
    """
    cases = [
        (*without_class.sides(own, others, lacking), {"own": own, "others": others})
        for own, others in ((2, 1), (1, 1), (10, 3))
    ]
    yield Cases(
        cases, name="bias of a lacking class, lower by log 2",
        quantity="probability of the right class that is reached",
    )  # fmt: skip
