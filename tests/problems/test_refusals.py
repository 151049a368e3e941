"""What problems and data refuse, each in one line that names the argument.

tests/_lib/test_wrong_calls.py tries values of wrong types with all public functions at once.
"""

import numpy as np
import pytest

import linrep as lr
from linrep import ClientData, LowRankRegression, Observations, SharedRepresentation
from linrep.problems import SideInformationCompletion, personal, subspace
from tests.tools import complaint

B, W, X, Y, CLIENT = np.eye(3)[:, :2], np.ones((4, 2)), np.ones((4, 2)), np.ones(4), [0, 0, 1, 1]
PLANE, DATA = np.eye(4)[:, :2], ClientData(np.ones((2, 1)), np.array([0.0, 1.0]), [0, 2])
PAIR = (X[:2], Y[:2])
NAN = np.where(X > 0, np.nan, 0.0)


def shared(B=B, W=W, **options):
    return lambda: SharedRepresentation(B, W, **options)


def random(**options):
    return lambda: SharedRepresentation.random(**{"n": 4, "d": 3, "k": 2} | options)


def drawn(m, **options):
    return lambda: SharedRepresentation(B, W).draw(m, rng=0, **options)


def clients(**options):
    return lambda: ClientData(**{"X": X, "y": Y, "offsets": [0, 2, 4]} | options)


def arrays(X=X, y=Y, client=CLIENT):
    return lambda: ClientData.from_arrays(X, y, client)


def listed(*pairs):
    return lambda: ClientData.from_list(pairs)


def completion(**options):
    given = {"n": 12, "d": 7, "p": 4, "k": 2, "rng": 0} | options
    return lambda: SideInformationCompletion.random(**given)


def observed(**options):
    given = {"items": [0, 1], "clients": [2, 3], "values": [1.0, 2.0], "d": 7}
    return lambda: Observations(**given | {"Z": np.ones((12, 4))} | options)


def low_rank(**options):
    return lambda: LowRankRegression.random(**{"n": 2, "d": 3} | options)


def tilted(distance, d=4, k=2, **options):
    return lambda: subspace.frame_at_distance(np.eye(d)[:, :k], distance, **options)


CALLS = [
    (shared(B=2.0 * B), "B must have orthonormal columns"),
    (shared(B=np.eye(3)[:2], W=np.ones((4, 3))), "B must have at most as many columns as rows"),
    (shared(B=np.ones(3)), "B must have shape"),
    (shared(B=B * np.nan), "B must be finite"),
    (shared(W=np.full((4, 2), np.nan)), "W must be finite"),
    (shared(W=np.ones((4, 3))), "W must have shape (any, 2)"),
    (shared(W=np.ones((0, 2))), "W must not be empty"),
    (shared(noise=-1), "noise must be at least 0"),
    (shared(design="normal"), "'student_t', got 'normal'"),
    (shared(degrees_of_freedom=2), "degrees_of_freedom must be greater than 2"),
    (random(n=0), "n must be at least 1"),
    (random(k=0), "k must be at least 1"),
    (random(n=1), "k must be between 1 and 1 = min(n, d)"),
    (random(heads="ball"), "heads must be one of"),
    (random(condition=0.5), "condition must be at least 1"),
    (random(k=1, condition=2), "condition must be 1 when k = 1"),
    (random(heads="gaussian", condition=2.0), "condition must not be given with heads='gaussian'"),
    (random(design="sphere", store=False), "store=False needs design='gaussian'"),
    (drawn(0), "m must be at least 1"),
    (drawn([1, 2, 3]), "m must be an integer or 4 integers"),
    (drawn([1, 2, 3, 0]), "m must be at least 1 for every client"),
    (drawn(2, clients=[4]), "clients must be between 0 and 3"),
    (drawn(2, clients=[]), "clients must be a list of integers, at least one"),
    (drawn(2, clients=[True, False, True, False]), "clients must be a list of integers"),
    (drawn([1, 2], clients=[0]), "m must be an integer or 1 integers"),
    (lambda: shared()().sigma_max(5), "participants must be between 1 and 4"),
    (lambda: shared()().sigma_min(0), "participants must be between 1 and 4"),
    (clients(offsets=[0, 4, 4]), "client 1 has no sample"),
    (clients(offsets=[0, 3, 2, 4]), "client 1 has no sample"),
    (clients(offsets=[1, 4]), "offsets must run from 0 to 4"),
    (clients(offsets=[0]), "offsets must be at least two integers"),
    (clients(offsets=[0, 1.5, 4]), "offsets must be at least two integers"),
    (clients(names=("a",)), "names must have one entry per client"),
    (clients(rows=[0, 1]), "rows must have 4 entries"),
    (clients(columns=["x"]), "columns must have a name per covariate"),
    # A kernel handed such a truth would read outside of its arrays.
    (clients(truth=random(n=3, d=2, k=1)()), "truth must have n = 2 and d = 2"),
    (clients(truth=random(n=2, d=3, k=1)()), "truth must have n = 2 and d = 2"),
    (lambda: clients()().client(2), "i must be between 0 and 1"),
    (arrays(X=X[0]), "X must have shape (any, any)"),
    (arrays(X=np.empty((0, 2)), y=[], client=[]), "X must not be empty"),
    (arrays(X=NAN), "X must be finite"),
    (arrays(y=NAN[:, 0]), "y must be finite"),
    (arrays(y=Y[:3]), "y must have shape (4)"),
    (arrays(client=CLIENT[:3]), "client must have shape (4,)"),
    (arrays(client=["a", "b", None, "a"]), "the client of row 2 is missing"),
    (listed(), "samples must hold at least one client"),
    (listed(PAIR, (np.empty((0, 2)), [])), "client 1 has no sample"),
    (listed(PAIR, (X[:, :1], Y)), "X of client 1 must have shape (any, 2)"),
    (listed(PAIR, (X, Y[:2])), "y of client 1 must have shape (4)"),
    (listed((NAN, Y)), "X of client 0 must be finite"),
    (lambda: ClientData.from_list([PAIR] * 3, names=["a", "b", "a"]), "'a' is there twice"),
    (low_rank(singular_values=[1, 1, 1]), "singular_values must be at most min(n, d) = 2"),
    (low_rank(singular_values=[1, -1]), "singular_values must be at least 0"),
    (low_rank(per_client=True), "per_client needs singular_values"),
    (lambda: LowRankRegression([[np.nan]]), "Phi must be finite"),
    (lambda: LowRankRegression(np.eye(2), design="cauchy"), "design must be one of"),
    (lambda: LowRankRegression(np.eye(2, 3)).best(3), "k must be between 1 and 2"),
    (lambda: LowRankRegression(np.eye(2)).draw(1, clients=[3]), "clients must be between"),
    (completion(k=5), "k must be between 1 and 4"),
    (completion(side="two-hot"), "side must be one of"),
    (completion(side="one-hot"), "p must be n"),
    (completion(side="isometric", p=13), "p must be at most n"),
    (completion(condition=2.0), "condition must be 1 unless"),
    (completion(singular_values=[1.0, 0.0]), "singular_values must be positive"),
    (lambda: completion()().observe(), "per_client or entries"),
    (lambda: completion()().observe(per_client=2, entries=3), "per_client or entries"),
    (observed(items=[0, 0], clients=[1, 1]), "item 0 and client 1 is given twice"),
    (observed(items=[0, 7]), "items must be between 0 and 6, got 7"),
    (observed(items=[0]), "must have the same length"),
    (observed(values=[1.0, np.nan]), "values must be finite"),
    (observed(n=3), "n must be the 12 rows of Z"),
    (lambda: lr.QuadraticObjectives(X, np.triu(np.ones((2, 2)))), "H must be symmetric"),
    (lambda: lr.QuadraticObjectives(X, np.eye(3)), "H must have shape"),
    (lambda: lr.QuadraticObjectives(X, clusters=[0]), "clusters must be 4"),
    (lambda: lr.QuadraticObjectives(X, -np.eye(2)).minimizers, "no negative eigenvalue"),
    (lambda: lr.CustomObjectives(lambda i, x: (0.0, x), d=2), "n must be given"),
    (lambda: lr.LogisticObjectives(DATA), "labels must be -1 or 1"),
    (lambda: lr.SoftmaxObjectives(clients(y=Y / 2)(), 2), "labels must be whole numbers from 0"),
    (lambda: personal.clustered(n=3, d=2, clusters=2), "m must be given"),
    (lambda: personal.clustered(n=3, d=2, clusters=4, m=1), "clusters must be between 1 and 3"),
    (lambda: personal.flipped_labels(n=3, d=2, m=1, flipped=1.5), "flipped must be at most 1"),
    (lambda: personal.masked(X, X), "mask must be an array of bool"),
    (lambda: subspace.random_frame(0, 1), "d must be at least 1"),
    (lambda: subspace.random_frame(3, 4), "k must be between 1 and 3"),
    (tilted(-0.1), "distance must be at least 0"),
    (tilted(1.5), "distance must be at most 1"),
    (tilted(0.5, angles="some"), "'equal', 'single', got 'some'"),
    (tilted(0.5, d=3), "angles='equal' needs d >= 4 for k = 2, got d = 3"),
    (tilted(0.5, d=2, angles="single"), "angles='single' needs d >= 3 for k = 2, got d = 2"),
    (lambda: subspace.distance(PLANE, np.eye(3)[:, :2]), "B1 and B2 must have as many rows"),
    (
        lambda: subspace.principal_angles(PLANE, np.ones((5, 2))),
        "B1 and B2 must have as many rows",
    ),
]


@pytest.mark.parametrize(("call", "words"), CALLS, ids=[words for _, words in CALLS])
def test_what_is_wrong_is_named(call, words):
    with complaint(ValueError, words):
        call()


BASES = {
    "B": subspace.orthonormalize,
    "B1": lambda B: subspace.distance(B, PLANE),
    "B2": lambda B: subspace.principal_angles(PLANE, B),
}
BAD = [
    (np.ones((4, 2)), "must have full column rank"),
    (np.array([[0.1, 0.3], [0.7, 2.1], [0.2, 0.6], [0.3, 0.9]]), "must have full column rank"),
    (PLANE * [1.0, 0.0], "must have full column rank"),
    (np.where(PLANE == 0.0, np.nan, PLANE), "must be finite"),
    (np.where(PLANE == 0.0, np.inf, PLANE), "must be finite"),
    (PLANE.T, "must have at most as many columns as rows, got shape (2, 4)"),
    (np.empty((4, 0)), "(4, 0)"),
    (np.ones(4), "(4,)"),
    (np.ones((1, 4, 2)), "(1, 4, 2)"),
]


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize(("bad", "words"), BAD)
def test_a_bad_basis_is_named_and_explained(name, bad, words):
    with complaint(ValueError, f"{name} ", words):
        BASES[name](bad)
