"""Splits, standardized, whitened and weighted data, against loops over the samples."""

import pickle
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

import linrep as lr
from linrep import ClientData, Preparation
from tests.strategies import seeds
from tests.tools import FALSE_ALARM, complaint, draws


@st.composite
def ragged(draw, *, smallest=1, most=8, dimensions=4):
    """Draw ClientData of one to five clients, every column with a unit and a centre of its own."""
    rng = np.random.default_rng(draw(seeds))
    d = draw(st.integers(1, dimensions))
    sizes = draw(st.lists(st.integers(smallest, most), min_size=1, max_size=5))
    units = 10.0 ** rng.integers(-6, 7, d)
    centers = rng.standard_normal(d) * rng.choice([0.0, 1.0, 100.0], d)
    pairs = [
        ((rng.standard_normal((m, d)) + centers) * units, 5.0 + 3.0 * rng.standard_normal(m))
        for m in sizes
    ]
    return ClientData.from_list(pairs, names=[f"client {i}" for i in range(len(sizes))])


def rows(data):
    """Return a client's samples by its name, as tuples."""
    found = {}
    for i, name in enumerate(data.names):
        X, y = data.client(i)
        found[name] = [(*x, label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    return found


def check_parts(data, train, test):
    """Every sample is in one part, in its client's order."""
    whole, learned, held = rows(data), rows(train), rows(test)
    assert list(learned) == list(whole)
    assert list(held) == [name for name in whole if name in held]
    for name, samples in whole.items():
        parts = (learned[name], held.get(name, []))
        assert sorted(samples) == sorted(parts[0] + parts[1])
        for part in parts:
            assert part == [sample for sample in samples if sample in part]


# Splits of samples


@given(ragged(), st.floats(0.01, 0.99), seeds)
def test_a_share_of_every_clients_samples_is_held_out(data, share, seed):
    wanted = [min(int(share * m + 0.5), m - 1) for m in data.m.tolist()]
    assume(any(wanted))
    train, test = data.split(share, rng=seed)
    check_parts(data, train, test)
    assert train.m.tolist() == [m - held for m, held in zip(data.m, wanted, strict=True)]
    assert test.m.tolist() == [held for held in wanted if held]
    again = data.split(share, rng=seed)
    for part, other in zip((train, test), again, strict=True):
        assert rows(part) == rows(other)


@given(ragged(), st.integers(1, 9), st.booleans(), seeds)
def test_a_number_of_every_clients_samples_is_held_out_or_kept(data, number, keeping, seed):
    sizes = data.m.tolist()
    kept = [min(number, m) if keeping else max(m - number, 1) for m in sizes]
    assume(kept != sizes)
    train, test = data.split(**{"keep" if keeping else "held_out": number}, rng=seed)
    check_parts(data, train, test)
    assert train.m.tolist() == kept
    assert test.m.tolist() == [m - k for m, k in zip(sizes, kept, strict=True) if m > k]


def test_every_sample_is_held_out_equally_often():
    n = draws(4000)
    X = np.tile(np.arange(5.0), n)[:, None]
    data = ClientData(X, X[:, 0], 5 * np.arange(n + 1))
    _, test = data.split(2, rng=0)
    assert (test.m == 2).all()
    counts = np.bincount(test.y.astype(int), minlength=5)
    pairs = test.y.reshape(n, 2)
    together = [(pairs == pair).all(axis=1).sum() for pair in combinations(range(5), 2)]
    assert sum(together) == n  # in the order of the samples
    for seen, share in [*((count, 2 / 5) for count in counts), *((c, 1 / 10) for c in together)]:
        assert binomtest(int(seen), n, share).pvalue > FALSE_ALARM / 15


def test_what_is_held_out_has_its_own_stream():
    """A seed that also draws the data does not correlate the two."""
    data = lr.SharedRepresentation.random(n=3, d=4, k=1, rng=0).draw(20, rng=5)
    _, test = data.split(0.5, rng=5)
    keys = lr.streams(5, "split")[0].random(60).reshape(3, 20)
    for i, held in enumerate(rows(test).values()):
        wanted = sorted(np.argsort(keys[i])[:10])
        assert held == [rows(data)[i][place] for place in wanted]


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({}, ValueError, ["held_out", "keep"]),
        ({"held_out": 0.5, "keep": 1}, ValueError, ["held_out", "keep"]),
        ({"held_out": 0.0}, ValueError, ["held_out", "greater"]),
        ({"held_out": 1.0}, ValueError, ["held_out", "below 1"]),
        ({"held_out": 0}, ValueError, ["held_out", "at least 1"]),
        ({"held_out": True}, TypeError, ["held_out"]),
        ({"held_out": 0.01}, ValueError, ["holds out no sample", "2 to 4"]),
        ({"keep": 4}, ValueError, ["keep=4", "holds out no sample"]),
        ({"keep": 1.5}, TypeError, ["keep", "integer"]),
    ],
)
def test_splits_that_cannot_be(settings, kind, words):
    data = ClientData(np.ones((6, 1)), np.arange(6.0), [0, 2, 6])
    with complaint(kind, *words):
        data.split(**settings, rng=0)


def test_the_truth_goes_with_the_parts_as_far_as_it_can():
    truth = lr.SharedRepresentation.random(n=4, d=3, k=2, rng=0)
    data = truth.draw([1, 5, 5, 1], rng=1)
    train, test = data.split(2, rng=0)
    assert train.truth is truth
    np.testing.assert_array_equal(test.truth.theta, truth.theta[1:3])
    others = lr.LowRankRegression(truth.theta.T).draw([1, 5, 5, 1], rng=1)
    train, test = others.split(2, rng=0)
    assert train.truth is others.truth
    assert test.truth is None


# Splits of clients


@given(ragged(), seeds, st.data())
def test_clients_are_known_or_new(data, seed, drawn):
    assume(data.n > 1)
    number = drawn.draw(st.integers(1, data.n - 1))
    known, new = data.split_clients(number, rng=seed)
    assert new.n == number
    assert rows(known) | rows(new) == rows(data)
    assert set(known.names) & set(new.names) == set()
    named = data.split_clients(names=new.names[::-1])
    assert [rows(part) for part in named] == [rows(known), rows(new)]
    again = data.split_clients(number / data.n, rng=seed)
    assert [part.names for part in again] == [known.names, new.names]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ["held_out", "names"]),
        ({"held_out": 2}, ["both sides"]),
        ({"held_out": 0.1}, ["both sides"]),
        ({"names": [0, 7]}, ["no client 7"]),
        ({"names": []}, ["both sides"]),
        ({"names": [0, 1]}, ["both sides"]),
    ],
)
def test_clients_that_cannot_be_split(settings, words):
    data = ClientData(np.ones((6, 1)), np.arange(6.0), [0, 2, 6])
    with complaint(ValueError, *words):
        data.split_clients(**settings, rng=0)


def test_the_truth_of_some_clients():
    truth = lr.SharedRepresentation.random(n=4, d=3, k=2, rng=0)
    known, new = truth.draw(3, rng=1).split_clients(names=[1])
    np.testing.assert_array_equal(known.truth.W, truth.W[[0, 2, 3]])
    np.testing.assert_array_equal(new.truth.W, truth.W[[1]])
    others = lr.LowRankRegression(truth.theta.T).draw(3, rng=1)
    assert others.split_clients(names=[1])[0].truth is None


# Affine maps


def moments(columns):
    """Return means and standard deviations of columns, a loop each."""
    means = [sum(column) / len(column) for column in columns]
    squares = [
        sum((value - mean) ** 2 for value in column) / len(column)
        for column, mean in zip(columns, means, strict=True)
    ]
    return np.array(means), np.sqrt(squares)


@given(ragged(smallest=3), st.booleans(), st.booleans(), st.booleans())
def test_standardized(data, center, scale, labels):
    found = data.standardized(center=center, scale=scale, labels=labels)
    mean, spread = moments([*data.X.T, data.y])
    mean, spread = mean * center, spread if scale else np.ones_like(spread)
    wanted = (np.column_stack([data.X, data.y]) - mean) / spread
    wanted[:, -1] = wanted[:, -1] if labels else data.y
    rounding = 1e-12 * np.append(np.abs(data.X).max(axis=0), np.abs(data.y).max()) / spread
    assert (np.abs(np.column_stack([found.X, found.y]) - wanted) <= rounding + 1e-12).all()
    assert found.names == data.names
    assert found.truth is None
    np.testing.assert_array_equal(found.offsets, data.offsets)
    assert found.preparation.constant == ()


def test_what_is_constant_is_centred_and_not_scaled():
    X = np.column_stack([np.arange(6.0), 0.1 + np.array([0, 0, 0, 2e-17, 0, 0]), np.zeros(6)])
    data = ClientData(X, np.full(6, 7.0), [0, 2, 6])
    with pytest.warns(UserWarning, match="covariates|labels") as warned:
        found = data.standardized()
    assert [str(each.message) for each in warned] == [
        "2 of 3 covariates are constant and not scaled",
        "the labels are constant and not scaled",
    ]
    assert {each.filename for each in warned} == {__file__}
    assert found.preparation.constant == (1, 2)
    assert "2 constant and not scaled" in repr(found)
    assert np.abs(found.X[:, 1:]).max() < 1e-16
    np.testing.assert_array_equal(found.y, 0.0)
    other = ClientData([[0.0, 5.1, 3.0]], [8.0], [0, 1])
    np.testing.assert_allclose(found.preparation.apply(other).X[0, 1:], [5.0, 3.0])


def test_units_may_be_extreme():
    X = np.random.default_rng(0).standard_normal((20, 2))
    data = ClientData(X * [1e-200, 1e200], X[:, 0], [0, 20])
    for found in (data.standardized(), data.whitened()):
        np.testing.assert_allclose(found.X.std(axis=0), 1.0)


@given(ragged(smallest=3, dimensions=6), seeds, st.integers(0, 2))
def test_whitened(data, seed, copies):
    """Mean 0 and covariance I on as many directions as there are, none of them blown up."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((data.d, copies)) / np.abs(data.X).max(axis=0)[:, None]
    X = np.hstack([data.X, data.X @ mixing])
    standard = data.X - data.X.mean(axis=0)
    values = np.linalg.svd(standard / standard.std(axis=0), compute_uv=False)
    assume(values[-1] > 1e-3 * values[0] or len(values) > np.linalg.matrix_rank(standard))
    assume(not ((values > 1e-8 * values[0]) & (values < 1e-3 * values[0])).any())
    rank = int((values > 1e-3 * values[0]).sum())
    whole = ClientData(X, data.y, data.offsets)
    found = whole.whitened()
    assert found.d == rank
    assert found.preparation.dropped == X.shape[1] - rank
    N = len(X)
    np.testing.assert_allclose(found.X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(found.X.T @ found.X / N, np.eye(rank), atol=1e-8)
    # The same functions of x: least squares with an intercept predict the same.
    for y in (data.y, rng.standard_normal(N)):
        fits = []
        for Z in (standard / standard.std(axis=0), found.X):
            Z = np.column_stack([Z, np.ones(N)])
            fits.append(Z @ np.linalg.lstsq(Z, y, rcond=1e-7)[0])
        np.testing.assert_allclose(*fits, atol=1e-7 * np.abs(y).max())


def test_whitening_knows_how_far_to_go():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    data = ClientData(np.column_stack([X, X[:, 0] + 1e-4 * X[:, 1]]), X[:, 0], [0, 20, 50])
    nearly = ClientData(
        np.column_stack([X, X[:, 0] + 1e-4 * rng.standard_normal(50)]), X[:, 0], [0, 20, 50]
    )
    assert (data.whitened().d, nearly.whitened().d, nearly.whitened(tolerance=1e-3).d) == (2, 3, 2)
    with complaint(ValueError, "whitened", "constant"):
        ClientData(np.ones((4, 2)), np.arange(4.0), [0, 4]).whitened()
    with complaint(ValueError, "tolerance", "below 1"):
        data.whitened(tolerance=1.0)


STEPS = {
    "centred": lambda data: data.standardized(scale=False),
    "scaled": lambda data: data.standardized(center=False, labels=False),
    "standardized": lambda data: data.standardized(),
    "whitened": lambda data: data.whitened(),
    "intercept": lambda data: data.with_intercept(),
}


@given(ragged(smallest=6), st.permutations(sorted(STEPS)), st.integers(1, 5), seeds)
def test_steps_one_after_another(data, order, length, seed):
    """The map of all of them, and models and labels in the units of the raw data."""
    assume(len(data.y) > 2 * data.d)
    rng = np.random.default_rng(seed)
    found = data
    for name in order[:length]:
        found = STEPS[name](found)
    total = found.preparation
    assert (total.d, total.d_prepared) == (data.d, found.d)
    size = np.abs(found.X).max()
    again = total.apply(data)
    np.testing.assert_allclose(again.X, found.X, atol=1e-8 * size)
    np.testing.assert_allclose(again.y, found.y, atol=1e-9 * np.abs(found.y).max())
    np.testing.assert_allclose(total.labels(found.y), data.y, atol=1e-9 * np.abs(data.y).max())
    if "intercept" in order[:length]:
        np.testing.assert_array_equal(found.X[:, -1], 1.0)
    theta = rng.standard_normal((data.n, found.d))
    coefficients, intercepts = total.models(theta)
    for i in range(data.n):
        X, _ = data.client(i)
        wanted = total.labels(found.client(i)[0] @ theta[i])
        terms = np.abs(X) @ np.abs(coefficients[i]) + abs(intercepts[i])
        assert (np.abs(X @ coefficients[i] + intercepts[i] - wanted) <= 1e-9 * terms + 1e-9).all()


@given(ragged(smallest=6))
def test_parts_of_a_chain_go_together_in_any_order(data):
    first = data.standardized().preparation
    second = data.standardized().whitened()
    assume(len(data.y) > 2 * data.d)
    whiten = lr.ClientData(data.standardized().X, data.y, data.offsets).whitened(labels=False)
    ones = whiten.with_intercept().preparation
    mapped = first.then(ones)
    wanted = second.with_intercept().X
    np.testing.assert_allclose(np.abs(mapped.covariates(data.X)), np.abs(wanted), atol=1e-7)


def test_the_test_data_go_through_the_map_of_the_training_data():
    data = lr.SharedRepresentation.random(n=4, d=3, k=1, rng=0).draw(9, rng=1)
    train, test = data.split(keep=5, rng=0)
    prepared = train.standardized().with_intercept()
    found = prepared.preparation.apply(test)
    mean, spread = moments(train.X.T)
    np.testing.assert_allclose(found.X[:, :-1], (test.X - mean) / spread)
    np.testing.assert_allclose(found.y, (test.y - train.y.mean()) / train.y.std())
    assert found.preparation == prepared.preparation
    assert found.preparation != train.standardized().preparation
    assert pickle.loads(pickle.dumps(prepared)).preparation == prepared.preparation
    assert prepared.split(2, rng=0)[1].preparation == prepared.preparation


def test_what_cannot_be_prepared():
    data = ClientData(np.arange(8.0).reshape(4, 2) ** 2, np.arange(4.0), [0, 2, 4])
    prepared = data.with_intercept()
    with complaint(ValueError, "raw"):
        prepared.preparation.apply(prepared)
    with complaint(ValueError, "intercept already"):
        prepared.with_intercept()
    with complaint(ValueError, "2 covariates", "they have 1"):
        prepared.preparation.apply(ClientData(np.ones((2, 1)), np.ones(2), [0, 2]))
    with complaint(ValueError, "2 covariates", "it is for 3"):
        prepared.preparation.then(Preparation(np.zeros(3), np.ones(3), np.zeros(3)))
    weighted = data.weighted("sample")
    for name in ("standardized", "whitened", "with_intercept"):
        with complaint(ValueError, "weights come last"):
            getattr(weighted, name)()
    for call in (
        lambda: weighted.split(1),
        lambda: weighted.split_clients(1),
        lambda: weighted.weighted("sample"),
        lambda: prepared.preparation.apply(weighted),
        lambda: lr.algorithms.biases.least_squares(weighted, side="one"),
    ):
        with complaint(ValueError, "weights come last"):
            call()
    signs = ClientData(data.X, [1.0, -1.0, 1.0, 1.0], [0, 1, 4]).weighted("sample")
    with complaint(ValueError, "weights come last"):
        lr.LogisticObjectives(signs)


# Weights


def weighted_loss(data, models, weights):
    """Return what the weights are documented to minimize, sample by sample."""
    total, N = 0.0, len(data.y)
    if isinstance(weights, str):
        weights = np.ones(data.n if weights == "client" else N)
    place = 0
    for i in range(data.n):
        X, y = data.client(i)
        for x, label in zip(X, y, strict=True):
            of_sample = weights[place] if len(weights) == N else weights[i] / len(y)
            total += of_sample * 0.5 * (x @ models[i] - label) ** 2
            place += 1
    return total / sum(weights)


@given(ragged(), seeds, st.sampled_from(["client", "sample", "clients", "samples"]))
def test_the_methods_loss_on_weighted_data_is_the_weighted_loss(data, seed, kind):
    rng = np.random.default_rng(seed)
    weights = kind
    if kind.endswith("s"):
        weights = rng.exponential(size=data.n if kind == "clients" else len(data.y))
        weights[1:] *= rng.random(len(weights) - 1) < 0.7
    found = data.weighted(weights)
    models = rng.standard_normal((data.n, data.d)) / np.abs(data.X).max()
    objective = lr.LeastSquaresObjectives(found).values(models).mean()
    np.testing.assert_allclose(objective, weighted_loss(data, models, weights), rtol=1e-10)
    if kind == "client":
        assert found is data
    else:
        means = [found.weights[a:b].mean() for a, b in pairwise(data.offsets)]
        np.testing.assert_allclose(np.mean(means), 1.0)


PERSONALIZED = lr.algorithms.personalized
METHODS = {
    "fedrep": lambda data, B: lr.fedrep(data, k=2, rounds=5, start=B, step_size=0.1),
    "fedrep, gradient heads": lambda data, B: lr.fedrep(
        data, k=2, rounds=5, start=B, step_size=0.1, local_steps=3, head_step_size=0.1
    ),
    "flute": lambda data, B: lr.flute(
        data, k=2, rounds=5, start=(B, np.ones((3, 2))), step_size=0.05
    ),
    "fedavg": lambda data, B: lr.fedavg(
        data, k=2, rounds=5, start=(B, np.ones((3, 2))), step_size=0.05, local_steps=3
    ),
    "pflmf": lambda data, B: lr.pflmf(
        data, k=2, rounds=5, start=(B, np.ones((3, 2))), step_size=0.1
    ),
    "local only": lambda data, B: lr.local_only(data),
    "average": lambda data, B: PERSONALIZED.average(data, rounds=5, step_size=0.1, local_steps=2),
    "nuclear norm": lambda data, B: PERSONALIZED.nuclear_norm(
        data, rounds=5, step_size=0.1, penalty=0.1
    ),
    "hard thresholding": lambda data, B: PERSONALIZED.hard_thresholding(
        data, rounds=5, step_size=0.1, k=2
    ),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_weight_of_two_is_a_sample_twice(method):
    """Whole weights within clients, and every sample as often: the same run."""
    rng = np.random.default_rng(0)
    data = ClientData(rng.standard_normal((24, 4)), rng.standard_normal(24), [0, 6, 15, 24])
    times = rng.integers(1, 4, 24)
    repeated = np.repeat(np.arange(24), times)
    sizes = np.add.reduceat(times, data.offsets[:-1])
    twice = ClientData(data.X[repeated], data.y[repeated], np.concatenate([[0], np.cumsum(sizes)]))
    B = lr.subspace.random_frame(4, 2, rng)
    found, wanted = (
        method(each, B) for each in (data.weighted(times / np.repeat(sizes, data.m)), twice)
    )
    for name in wanted.keys() - {"samples"}:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(found.models, wanted.models, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", ["sample", "clients"])
def test_where_a_method_ends_the_weighted_loss_is_least(weights):
    """No model of the same rank near by is better; the loss without weights is not least there."""
    rng = np.random.default_rng(1)
    data = ClientData(rng.standard_normal((60, 4)), rng.standard_normal(60), [0, 8, 25, 60])
    weights = np.array([5.0, 1.0, 0.2]) if weights == "clients" else weights
    B = lr.subspace.random_frame(4, 1, rng)
    trace = lr.fedrep(
        data.weighted(weights), k=1, rounds=20_000, start=B, step_size=0.05, record=20_000
    )
    B, W = trace.state["B"], trace.state["W"]

    def slopes(weights):
        def loss(B):
            return weighted_loss(data, W @ B.T, weights)

        steps = 1e-5 * np.eye(4)[:, :, None]
        return np.array([(loss(B + step) - loss(B - step)) / 2e-5 for step in steps])

    assert np.abs(slopes(weights)).max() < 1e-8
    assert np.abs(slopes("client")).max() > 1e-3
    np.testing.assert_allclose(trace["loss"][-1], weighted_loss(data, W @ B.T, weights), rtol=1e-9)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("samples", ["weights", "'client', 'sample'"]),
        ([1.0, -1.0], ["weights", "at least 0"]),
        ([0.0, 0.0], ["weights", "all be 0"]),
        ([1.0, 1.0, 1.0], ["weights", "(2,)", "(6,)"]),
        ([1.0, np.nan], ["weights", "finite"]),
    ],
)
def test_weights_that_cannot_be(weights, words):
    with complaint(ValueError, *words):
        ClientData(np.ones((6, 1)), np.arange(6.0), [0, 2, 6]).weighted(weights)
