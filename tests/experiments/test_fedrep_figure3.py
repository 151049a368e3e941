"""Figure 3 of FedRep as published, beside its notebook loop by loop, and what is corrected."""

import numpy as np
import pytest

import linrep as lr
from linrep.figures import experiment
from linrep.papers.fedrep.settings import (
    CONVENTIONS,
    METHODS,
    PUBLISHED_STEPS,
    Figure3,
    notebook_start,
)
from tests.algorithms.support import schedule
from tests.reference import fedrep_notebook

REPLICATE = experiment.load("fedrep.figure3").replicate
#: Even rounds are stored.
ROUNDS = 20
SIZES = {"rounds": ROUNDS}


def rows_of(n, seed, corrected=None):
    found = REPLICATE({"variant": "published", "n": n}, np.random.default_rng(seed), **SIZES)
    return found if corrected is None else found[found["corrected"] == corrected]


def problem(n, seed):
    """Return truth, data and the seed of the runs of a replicate."""
    problem_seed, run_seed = np.random.default_rng(seed).integers(2**63, size=2)
    rng = np.random.default_rng(int(problem_seed))
    truth = lr.SharedRepresentation.random(n=n, d=10, k=2, rng=rng, **CONVENTIONS["published"])
    return truth, truth.draw(5, rng=rng), int(run_seed)


def in_its_units(data):
    """Return the notebook's covariates (n, m, d) and labels (n, m)."""
    return data.X.reshape(data.n, 5, data.d) / 5**0.5, data.y.reshape(data.n, 5) / 5**0.5


@pytest.mark.compiled
@pytest.mark.parametrize("n", [10, 100])
def test_published_is_the_notebook(n):
    """Distances and what it plots, on the same data and participants, from the same start."""
    truth, data, seed = problem(n, 3)
    A, Y = in_its_units(data)
    V, U = notebook_start(data, 2, seed)
    steps = PUBLISHED_STEPS[n]
    expected = fedrep_notebook.run(
        A, Y, U, V, truth.B, truth.W, schedule(seed, n, n // 10, ROUNDS),
        steps["FedRep"], steps["GD-GD"], steps["10GD-GD"],
    )  # fmt: skip
    found = rows_of(n, 3, "nothing").set_index(["method", "round"])
    for method in METHODS:
        for t in range(0, ROUNDS + 1, 2):
            row = found.loc[(method, t)]
            wanted = expected[t][method]
            assert (row["distance"], row["value"]) == pytest.approx(wanted, rel=1e-7), (method, t)


def test_the_notebooks_noise_is_that_of_the_setting():
    """Labels over sqrt(m) have noise of standard deviation 1e-3."""
    truth, data, _ = problem(1000, 0)
    A, Y = in_its_units(data)
    noise = Y - np.einsum("nmd,nd->nm", A, truth.theta)
    assert noise.std() == pytest.approx(1e-3, rel=0.05)  # 5000 of them: 1 % is one error


@pytest.mark.parametrize(("n", "d", "k", "m"), [(10, 10, 2, 5), (3, 7, 1, 4), (9, 3, 2, 1)])
def test_the_notebooks_start_is_that_of_its_loops(n, d, k, m):
    rng = np.random.default_rng(1)
    data = lr.SharedRepresentation.random(n=n, d=d, k=k, rng=rng, noise=0.1).draw(m, rng=rng)
    B, W = notebook_start(data, k, 5)
    M = lr.streams(5, "start")[0].standard_normal((n, d))
    A, Y = data.X.reshape(n, m, d) / m**0.5, data.y.reshape(n, m) / m**0.5
    U, V = fedrep_notebook.start(A, Y, M, k)
    np.testing.assert_allclose(W, U, atol=1e-10)
    # The other rows are of the null space: any basis of it.
    np.testing.assert_allclose(B[:k], V[:k], atol=1e-10)
    np.testing.assert_allclose(B.T @ B, np.eye(k), atol=1e-12)


def test_the_notebooks_start_refuses_ragged_clients():
    data = lr.SharedRepresentation.random(n=2, d=3, k=1, rng=0).draw([1, 3], rng=0)
    with pytest.raises(ValueError, match="equally many samples for each client, got 1 to 3"):
        notebook_start(data, 1, 0)


@pytest.mark.compiled
def test_a_correction_changes_what_it_says_and_nothing_else():
    found = rows_of(100, 3).set_index(["corrected", "method", "round"])["distance"].unstack("round")
    as_it_is = found.xs("nothing")
    truth, data, _ = problem(100, 3)
    same = {each: set() for each in found.index.unique("corrected")}
    for (corrected, method), distances in found.iterrows():
        if np.array_equal(distances, as_it_is.loc[method]):
            same[corrected].add(method)
    assert same.pop("nothing") == set(METHODS)
    assert same.pop("first heads") == {"FedRep"}
    assert same.pop("10GD-GD's step") == {"FedRep", "GD-GD"}
    assert set(same) == {"start", "steps", "QR", "heads", "noise"}
    assert not any(same.values())
    # The start differs where it is corrected, and where the problem is another.
    first = found[0].unstack("method")
    assert (first.nunique(axis="columns") == 1).all()
    first = first["FedRep"]
    alike = first.index[first == first["nothing"]]
    assert set(alike) == {"nothing", "first heads", "10GD-GD's step", "steps", "QR"}
    B, _ = lr.projected_gradient_start(data, 2)
    assert first["start"] == pytest.approx(lr.subspace.distance(B, truth.B))
    assert first["start"] < 0.5 < first["nothing"]


def test_the_text_has_all_n_and_the_published_variant_those_of_the_notebook():
    item = experiment.load("fedrep.figure3")
    found = [(cell["variant"], cell["n"]) for cell in item.cells(Figure3())]
    assert found == [("text", n) for n in (10, 20, 100, 1000)] + [
        ("published", n) for n in (10, 100, 1000)
    ]
    others = item.cells(Figure3(n=(12, 25)))
    assert {cell["variant"] for cell in others} == {"text"}
    assert others.left_out == {"the notebook has no such n": 2}
