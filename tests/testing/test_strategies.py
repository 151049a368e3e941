"""What is drawn, edge shapes included; a failure prints the lines that make it."""

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import linrep as lr
from linrep.problems import Objectives, QuadraticObjectives
from linrep.testing import (
    biased_regressions,
    client_data,
    completions,
    draw_client_data,
    draw_start,
    low_rank_regressions,
    objectives,
    observations,
    seeds,
    shared_representations,
    starts,
    with_starts,
)
from linrep.testing import strategies as module
from tests.tools import complaint

FAMILIES = {
    "shared": shared_representations(),
    "low rank": low_rank_regressions(),
    "completion": completions(),
    "entries": observations(),
    "biases": biased_regressions(),
    "data": client_data(),
    "objectives": objectives(),
}
STARTED = [name for name in FAMILIES if name != "biases"]


def first(strategy, condition=lambda item: True, phases=tuple(Phase)):
    chosen = settings(database=None, max_examples=2000, phases=phases)
    return find(strategy, condition, settings=chosen)


def some(strategy, condition):
    """Return an example that has not been made smaller, which takes most of the time."""
    return first(strategy, condition, phases=(Phase.generate,))


def width(item):
    """Return the number of clients, the dimension, and the samples or entries."""
    return item.n, item.d


@pytest.mark.parametrize("name", FAMILIES)
def test_examples_shrink_towards_one_client_and_one_dimension(name):
    assert width(first(FAMILIES[name], lambda item: item.d >= 3)) == (1, 3)
    assert width(first(FAMILIES[name], lambda item: item.n >= 3)) == (3, 1)


def singular(values):
    return np.linalg.svd(values, compute_uv=False)


def equal(values):
    return values.size > 1 and np.ptp(values) < 1e-9 * values[0]


@pytest.mark.parametrize(
    ("name", "edge"),
    [
        ("shared", lambda x: x.k == x.d > 1),
        ("shared", lambda x: x.noise == 0.0),
        ("shared", lambda x: x.noise > 0.0),
        ("shared", lambda x: equal(singular(x.W))),
        ("low rank", lambda x: equal(x.singular_values)),
        ("low rank", lambda x: 0 < np.linalg.matrix_rank(x.Phi) < min(x.n, x.d)),
        ("completion", lambda x: x.k == x.d > 1),
        ("completion", lambda x: x.p > x.n),
        ("completion", lambda x: equal(x.singular_values)),
        ("completion", lambda x: x.n > 1 and np.array_equal(x.Z, np.eye(x.n))),
        ("entries", lambda x: len(x) == x.n * x.d > 1),
        ("data", lambda x: x.truth.k > x.m.min()),
        ("data", lambda x: len(set(x.m)) > 1),
        ("data", lambda x: x.d > 1 and not x.X[:, 0].any()),
        ("data", lambda x: x.m[0] > 1 and (x.X[0] == x.X[1]).all()),
        ("objectives", lambda x: x.clusters is not None and len(set(x.clusters)) < x.n),
        ("objectives", lambda x: isinstance(x, QuadraticObjectives) and not x.smoothness.all()),
        ("biases", lambda x: x.n <= x.p),
    ],
)
def test_edge_shapes_are_drawn(name, edge):
    some(FAMILIES[name], edge)


@pytest.mark.parametrize("name", STARTED)
@given(data=st.data())
def test_starts_fit_their_problems(name, data):
    problem, (B, W) = data.draw(with_starts(FAMILIES[name]))
    heads = getattr(problem, "Z", None)
    assert B.shape == (problem.d, W.shape[1])
    assert len(W) == (problem.n if heads is None else heads.shape[1])
    assert np.isfinite(B).all()
    assert np.isfinite(W).all()


def test_every_kind_of_start_occurs():
    seen = {
        kind
        for name in STARTED
        for k in (1, 2)
        for kind in module._kinds(some(FAMILIES[name], lambda x: x.d >= 4 and x.n >= 4), k)
    }
    documented = {kind for kind in seen if f'"{kind}"' in draw_start.__doc__}
    assert seen == documented
    assert len(seen) == 8


@given(truth=shared_representations(d=(2, 8), k=(1, 2)), seed=seeds())
def test_starts_at_the_truth_and_away_from_it(truth, seed):
    B, W = draw_start(truth, "truth", rng=seed)
    np.testing.assert_allclose(W @ B.T, truth.theta, atol=1e-12)
    if truth.d >= 2 * truth.k:
        B, _ = draw_start(truth, "orthogonal to the truth", rng=seed)
        assert lr.subspace.distance(B, truth.B) == pytest.approx(1.0)


@given(case=with_starts(objectives(), kinds=["spectral"]))
def test_a_start_from_the_clients_own_minimizers(case):
    problem, (U, V) = case
    assert isinstance(problem, Objectives)
    values = singular(problem.minimizers)
    np.testing.assert_allclose(singular(V @ U.T)[0], values[0], atol=1e-9 * max(1.0, values[0]))


@given(
    truth=st.one_of(shared_representations(noise=[0.0]), low_rank_regressions(noise=[0.0])),
    seed=seeds(),
    covariates=st.sampled_from(module.COVARIATES),
)
def test_labels_follow_the_truth_whatever_the_covariates(truth, seed, covariates):
    data = draw_client_data(truth, 3, covariates=covariates, rng=seed)
    models = np.repeat(truth.theta, data.m, axis=0)
    np.testing.assert_allclose(data.y, np.sum(data.X * models, axis=1), atol=1e-12)


@pytest.mark.parametrize(
    ("strategy", "d", "made"),
    [
        (with_starts(client_data(m=2, ragged=False)), 3, ["truth", "data", "start"]),
        (FAMILIES["completion"].map(lambda problem: (problem, None)), 2, ["truth"]),
        (FAMILIES["objectives"].map(lambda problem: (problem, None)), 2, ["problem"]),
    ],
)
def test_a_failure_prints_the_lines_that_make_it(strategy, d, made):
    @settings(database=None, phases=(Phase.generate, Phase.shrink), derandomize=True)
    @given(case=strategy)
    def fails(case):
        assert case[0].d < d

    with pytest.raises(AssertionError) as caught:
        fails()
    notes = "\n".join(caught.value.__notes__).splitlines()
    lines = [line for line in notes if line.partition(" = ")[0] in ("problem", *made)]
    names = {"lr": lr, "draw_client_data": draw_client_data, "draw_start": draw_start}
    exec("\n".join(lines), names)
    assert [line.partition(" = ")[0] for line in lines] == made
    assert names[made[min(1, len(made) - 1)]].d == d
    if "start" in made:
        assert names["start"][0].shape == (d, 1)


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (lambda: shared_representations(n=0), ("n", "at least 1")),
        (lambda: shared_representations(d=(5, 3)), ("d", "at least 5")),
        (lambda: shared_representations(d=2, k=3), ("k", "at most")),
        (lambda: completions(sides=["isometric"], n=2, p=3), ("p", "at most 2")),
        (lambda: with_starts(client_data(), kinds=["spectral"]), ("kinds", "moments")),
        (lambda: starts(first(objectives()), k=2), ("k",)),
    ],
)
def test_impossible_sizes_and_kinds_are_refused(strategy, words):
    @settings(database=None)
    @given(strategy())
    def draws(item):
        pass

    with complaint(ValueError, *words):
        draws()
