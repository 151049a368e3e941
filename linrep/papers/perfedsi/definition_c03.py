"""Definition C.3: incoherence, its range, and what Definition 3.1 says about it."""

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, Readings, Search, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.claims.search import Reader
from linrep.papers.perfedsi import model
from linrep.papers.perfedsi.counterexamples.definitionc3 import sides
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

#: Shapes with many more items than columns, of which (14) says something.
WIDE = ({"n": 2, "d": 16, "p": 2, "k": 1}, {"n": 3, "d": 12, "p": 3, "k": 2})
#: The largest s, and root of s, at which 1 less that is not rounding.
ROOT = 0.9999


def beside_small_U(lhs_rhs, budget, rng, **options) -> Search:
    """Search from states with U = (1 - sqrt(s)) U*/c and V = c V*, U* flat, for some c and s."""
    known = []
    for c, s in ((2.0, 0.0), (10.0, 0.0), (1.1, 0.2), (4.0, 0.5)):
        Z, star_U, star_V = [1.0, 1.0, 1.0, -1.0], [0.5**0.5] * 2, [1.0, 0.0]
        less = [-(s**0.5) / c * u for u in star_U]
        x = np.array([0.0, *Z, *star_U, *star_V, *less, 0.0, 0.0, 1.0 / c])
        known.append((model.SHAPES[1], x))
    shapes = budget(model.SHAPES[:2], model.SHAPES[1:])
    return model.searched(lhs_rhs, budget, rng, shapes=shapes, known=known, **options)


def rows_of_U(rng):
    """Yield (35) for both readings of Definition 3.1's bound on rows of U, with that mu.

    (35) bounds the mean over items of ||U'e_i||^2 (e_i'E z)^2.
    """
    for tau, (d, k), flat in product((1, 2, 5, 20), ((4, 1), (16, 2), (64, 5)), (False, True)):
        truth = SideInformationCompletion.random(n=20, d=d, p=5, k=k, rng=rng)
        U, V = rng.standard_normal((d, k)), rng.standard_normal((5, k))
        if flat:
            U /= np.linalg.norm(U, axis=1, keepdims=True)
        top, squares = truth.singular_values[0], np.sum(U**2, axis=1)
        errors = (U @ V.T - truth.M) @ truth.Z.T
        left = np.mean(squares[:, None] * errors**2, axis=0)
        for name, factor in (("tau as printed", tau), ("r", k)):
            mu = squares.max() * d / (factor * top)
            right = mu * k * top / d**2 * np.sum(errors**2, axis=0)
            worst = float(np.max(left / right))
            at = {"tau": tau, "r": k, "d": d, "mu": mu}
            yield f"rows of U bounded with {name}", at_most(worst, 1.0), at


def client_U(budget, rng, factor) -> Readings:
    """Ask whether a client's own U is incoherent: with a small c_0, or whatever c_0 is.

    The factor is that of the bound where c_0 is small.
    """

    def lhs_rhs(truth, U, V):
        found = model.longest_steps(truth, U, V)
        if found is None or (root := 133.0 / 132.0 * found.share**0.5) >= ROOT:
            return None
        bound = factor * found.mu * (found.c / (1.0 - root)) ** 2
        return max(map(theory.incoherence, found.U)), bound

    name = "c_0 small enough, steps of Theorem C.4"
    small = beside_small_U(lhs_rhs, budget, rng, name=name, strength=PROVED)
    at = {"c": model.C, "mu": model.MU, "c_0": 0.5}
    rows = [
        (theory.incoherence(U), model.MU, {"d": d, "size": size, **at})
        for d, size, iterates in model.vanishing_runs()
        for U, _ in iterates
    ]
    name = f"any c_0: c = {model.C}, mu = {model.MU}, c_0 = 1/2"
    any_c_0 = Cases(rows, quantity="mu of U", name=name)
    parts, phrase = [small, any_c_0], "for some constants c_0, c"
    return Readings(parts, name="a client's U is incoherent", phrase=phrase)


def client_E(budget, rng) -> Readings:
    """Ask whether a client's own error is incoherent: with which mu, after which steps.

    The longest steps of Theorem C.4 move it by at most 1/(66 sqrt(d)) of the server's; a step of
    any size leaves one row of it, whatever c_0 is.
    """

    def sides_of(truth, U, V, times=None):
        found = model.longest_steps(truth, U, V)
        if found is None:
            return None
        errors = found.U @ found.V.swapaxes(1, 2) - truth.M
        if np.linalg.norm(errors[0]) < 1e-6 * np.linalg.norm(truth.M):
            return None
        factor = (67 / 65 * found.c_z) ** 2 if times is None else times
        return max(map(theory.incoherence, errors)), factor * found.mu

    own, other, same = [], [], []
    for d, c_0 in product((16, 64, 256), (Fraction(1, 2), Fraction(1, 10**3), Fraction(1, 10**9))):
        at = {"d": d, "M": 2, "k": 2, "r": 1, "c": 2, "mu": 1, "c_0": str(c_0), "eta": d}
        own.append((*sides(d, c_0=c_0), at))
        other.append((*sides(d, Fraction(d, 4), c_0), at | {"candidate": d // 4}))
    name, known = "with a mu for all d, steps of Theorem C.4", [(WIDE[0], unlike_in_one_row(2.0))]
    options = {"shapes": budget(WIDE[:1], WIDE), "known": known, "strength": PROVED}
    limited = model.searched(sides_of, budget, rng, name=name, **options)
    for c_z in (2.0, 4.0):
        shape = {"n": 2, "d": int(c_z**4), "p": 2, "k": 1}
        instance = model.read(Reader(unlike_in_one_row(c_z)), shape)
        assert instance is not None
        same.append((*sides_of(*instance, times=1.0), shape | {"c_z": c_z}))
    parts = [
        Cases(cases, quantity="mu of E", name=name)
        for cases, name in (
            (own, "with the same mu, in fractions"),
            (other, "with a mu for all d (4, 16, 64 tried), in fractions"),
            (same, "with the same mu, steps of Theorem C.4"),
        )
    ]
    return Readings(
        [*parts[:2], limited, parts[2]], name="a client's E is incoherent", phrase="incoherent",
        printed_elsewhere=dict.fromkeys((limited.name, parts[2].name), "Theorem C.4"),
    )  # fmt: skip


def unlike_in_one_row(c_z):
    """Return numbers for `read`: a server's error that is unlike in one row, d = c_z^4.

    Z is as in `one_row`, V* = (-1/sqrt(d), 1), U* has equal rows of norm 1/sqrt(d), and the error
    is 1/sqrt(d) in U's first row and in V's first entry.
    """
    d = int(c_z**4)
    root = c_z**0.5
    small, first = d**-0.5, np.eye(d)[0]
    Z = [root, root / c_z, root, -root / c_z]
    return np.array([0.0, *Z, *np.full(d, small), -small, 1.0, *(small * first), small, 0.0, 1.0])


def one_row(c_z_power):
    """Yield the largest mu of an error that is unlike in one row, over its bound.

    Z has the rows sqrt(c_z) (1, 1/c_z) and sqrt(c_z) (1, -1/c_z), E a column of equal entries and
    beside it one entry in the first row, of the same norm; d is so large that all of its rows'
    E z_m are of one size.
    """
    for c_z in (4.0, 64.0, 2.0**12, 2.0**20):
        d = c_z**4
        gram = np.array([[1.0, d**-0.5], [d**-0.5, 1.0]])  # of E's columns
        mu_E = d * (1.0 / d + 1.0) / (2.0 * np.linalg.eigvalsh(gram)[-1])
        first = d**-0.5 + 1.0 / c_z  # entry of E z_1, over sqrt(c_z)
        square = (d - 1.0) / d + first**2
        mu = d * max(first**2, 1.0 / d) / square
        yield mu_E / (c_z**c_z_power * mu), 1.0, {"c_z": c_z, "d": d, "k": 2}


@statement(
    "perfedsi.definitionC3",
    place="Definition C.3, (14); Definition 3.1; (35)",
    latex=r"\|e_i^\top A\| \le \sqrt{\mu r/d}\,\|A\|_2; \quad \mathcal A_{t,s} \Rightarrow"
    r" U, E \text{ incoherent}",
    plain="The regularity event makes U and the error incoherent, of the server and of every "
    "client in all of its local steps.",
    hypotheses=model.WITHIN,
    negative_control={"factor": 0.5},
)
def definitionC3(budget, rng, *, factor=1.0):
    """Find what (35) follows from, and whether the event makes U and E incoherent.

    At a client's own iterates it does not, for any c_0, unless steps are as short as Theorem C.4
    asks; the corrected statement is about the server's. The factor is that of the bound for U then.
    """
    parts = list(measured(rows_of_U(rng), quantity="lhs/rhs").values())
    name, phrase = "(35) from Definition 3.1", "the bound on rows of U"
    elsewhere = {"rows of U bounded with r": "Definition C.3, (14)"}
    yield Readings(parts, name=name, phrase=phrase, printed_elsewhere=elsewhere)
    yield client_U(budget, rng, factor)
    yield client_E(budget, rng)


@statement(
    "perfedsi.definitionC3.corrected",
    place="Definition C.3, (14); Definition 3.1",
    hypotheses=model.WITHIN,
    latex=r"s = 2c_zcc_0 < 1 \;\Rightarrow\; U_t \text{ is } \frac{c^2\mu}{(1 - \sqrt s)^2}"
    r"\text{-incoherent}; \quad E_t \text{ is } c_z^2\mu\text{-incoherent}",
    plain="With a small c_0 the event makes the server's U and its error incoherent, with "
    "different parameters.",
    negative_control={"c_power": 1.0, "c_z_power": 1.0},
    corrects="perfedsi.definitionC3",
    stronger={"c_power": -1, "c_z_power": -1, "share_factor": -1},
)
def definitionC3_corrected(budget, rng, *, c_power=2.0, c_z_power=2.0, share_factor=2.0):
    """Search both, at iterates that all clients share; powers are of c and c_z, 2 stands in s."""

    def of_U(truth, U, V):
        found, share = model.needed(truth, U, V)
        share *= share_factor / 2.0
        if share >= ROOT:
            return None
        floor = theory.norm_floor(found.norms, share) * found.norms
        return theory.incoherence(U), found.rows * found.norms**c_power / floor**2

    def of_E(truth, U, V):
        E = U @ V.T - truth.M
        if np.linalg.norm(E) < 1e-6 * np.linalg.norm(truth.M):
            return None
        c_z = theory.scaling(truth.Z).c_z
        return theory.incoherence(E), c_z**c_z_power * model.event(truth, U, V).errors

    yield beside_small_U(of_U, budget, rng, name="U has mu over floor^2", strength=PROVED)
    options = {"shapes": budget(model.SHAPES[:2], model.SHAPES[1:]), "strength": PROVED}
    yield model.searched(of_E, budget, rng, name="E has c_z^2 mu", **options)
    found = one_row(c_z_power)
    yield Cases(found, quantity="lhs/rhs", name="E unlike in one row", strength=PROVED)
