"""FedRep at finite size: means of a round against sampled ones, curves against runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.problems import ImplicitRepresentation
from linrep.theory import asymptotics, finite
from linrep.theory.asymptotics import learning_curves
from tests.reference import finite as reference
from tests.strategies import seeds
from tests.tools import close

#: Clients, participants, d, k, m, step, sines and noise: one participant, one client, d < 2k,
#: m = k + 2, several angles, all with unequal heads.
ROUNDS = [
    (5, 2, 7, 2, 4, 0.5, (0.8, 0.3), 0.0),
    (3, 1, 3, 2, 5, 0.7, (0.6, 0.0), 0.4),
    (1, 1, 5, 1, 4, 0.6, (0.7,), 0.3),
    (1, 1, 4, 2, 9, 0.4, (0.5, 0.9), 0.0),
    (6, 3, 4, 3, 12, 0.3, (0.9, 0.0, 0.0), 0.2),
    (4, 4, 9, 2, 8, 0.8, (0.2, 0.1), 1.0),
    (7, 2, 6, 3, 7, 0.3, (0.95, 0.5, 0.05), 0.1),
    (8, 5, 12, 1, 3, 1.1, (0.4,), 0.0),
]
#: Clients, d, k, m, participants, step times the largest curvature, start, noise and rounds.
CURVES = [
    (20, 10, 2, 10, 3, 0.25, 0.5, 0.0, 12),
    (8, 20, 2, 12, 4, 0.5, 0.7, 0.1, 15),
    (20, 20, 2, 12, 5, 0.5, 0.9, 0.0, 12),
    (20, 10, 2, 10, 1, 0.25, 0.5, 0.0, 12),
    (20, 10, 2, 10, 2, 0.25, 0.5, 0.0, 12),
    (20, 10, 2, 10, 4, 0.25, 0.5, 0.0, 12),
    (20, 10, 2, 10, 5, 0.25, 0.5, 0.0, 12),
    (10, 10, 2, 5, 1, 0.25, 0.7, 0.0, 20),
    (30, 12, 3, 9, 5, 0.4, 0.6, 0.0, 12),
    (12, 12, 1, 6, 3, 0.6, 0.7, 0.3, 12),
    (40, 30, 2, 8, 4, 0.3, 0.8, 0.0, 25),
    (5, 8, 2, 8, 5, 0.5, 0.6, 0.0, 12),
]


def slow(items, first):
    return [pytest.param(*each, marks=[pytest.mark.slow] * (i >= first)) for i, each in items]


def truth_of(n, d, k, noise=0.0, seed=3, equal=True):
    W = np.random.default_rng(seed).standard_normal((n, k))
    if equal:
        W *= np.sqrt(k) / np.linalg.norm(W, axis=1, keepdims=True)
    return ImplicitRepresentation(W, d, noise)


def step_of(truth, share):
    return share / np.linalg.eigvalsh(truth.W.T @ truth.W / truth.n)[-1]


def deviations(setting, count, rng, per=5000):
    """Return the error of both means in standard errors of so many sampled rounds."""
    n, N, d, k, m, eta, sines, noise = setting
    W = rng.standard_normal((n, k)) * rng.uniform(0.3, 1.5, (n, 1))
    truth, B = reference.frames(d, sines, rng)
    C, away = B.T @ truth, np.eye(d) - truth @ truth.T
    exact = finite.round_moments(
        W, C, np.eye(k) - C @ C.T, d=d, m=m, step_size=eta, participants=N, noise=noise
    )
    total, squares = np.zeros((2, k, k)), np.zeros((2, k, k))
    for _ in range(count // per):
        moved, weights = reference.rounds(
            np.tile(B, (per, 1, 1)), truth, W, participants=N, m=m, step_size=eta, noise=noise,
            rng=rng, tilt=m < k + 6,
        )  # fmt: skip
        turned = np.swapaxes(moved, 1, 2)
        found = np.stack([turned @ away @ moved, turned @ moved], axis=1)
        found *= weights[:, None, None, None]
        total, squares = total + found.sum(0), squares + (found**2).sum(0)
    mean = total / count
    return (mean - np.array(exact)) / np.sqrt((squares / count - mean**2) / count)


@pytest.mark.parametrize("setting", ROUNDS)
def test_the_means_of_a_round_are_those_of_sampled_ones(setting):
    assert np.abs(deviations(setting, 5000, np.random.default_rng(0))).max() < 5.0


@pytest.mark.slow
@pytest.mark.parametrize("setting", ROUNDS)
def test_the_means_of_a_round_are_those_of_a_hundred_thousand(setting):
    assert np.abs(deviations(setting, 100_000, np.random.default_rng(0))).max() < 4.0


def test_many_clients_in_many_dimensions_have_the_round_of_the_limit():
    """What is left is of order 1/n."""
    rng, errors = np.random.default_rng(1), []
    heads, (C, Phi) = rng.standard_normal((6, 2)), np.split(
        np.linalg.qr(rng.standard_normal((4, 2)))[0], 2
    )  # fmt: skip
    E, eta, m = np.eye(2) - C @ C.T, 0.4, 9
    for copies in (10, 1000):
        W, d = np.tile(heads, (copies, 1)), 2 + 12 * copies
        N = 4 * copies
        found = finite.round_moments(W, C, E, d=d, m=m, step_size=eta, participants=N, noise=0.3)
        g = learning_curves.same_gradient(W, C, learning_curves.outside_gram(C, E), m=m, noise=0.3)
        K = np.eye(2) + eta * C @ g.outside
        close_to = K.T @ E @ K + eta**2 * (d - 2) / N * g.power
        errors.append(np.abs(found.outside - close_to).max())
    assert Phi.shape == (2, 2)
    assert errors[0] < 0.05
    assert errors[1] < 0.02 * errors[0]


@pytest.mark.parametrize(
    ("n", "d", "k", "m", "N", "share", "start", "noise", "rounds"), slow(enumerate(CURVES), 3)
)
@pytest.mark.filterwarnings("ignore:from a distance:UserWarning")
def test_the_curve_is_within_a_standard_deviation_of_runs(
    n, d, k, m, N, share, start, noise, rounds
):
    truth = truth_of(n, d, k, noise)
    settings = {"m": m, "step_size": step_of(truth, share), "start": start, "rounds": rounds}
    settings["participation"] = N / n
    curve = finite.fedrep(truth, **settings).squared_chordal[-1]
    runs = [lr.fedrep(truth, batches="gram", rng=seed, **settings) for seed in range(100)]
    logs = np.log([np.sum(run.state["Phi"] ** 2) for run in runs])
    assert abs(np.log(curve) - logs.mean()) < logs.std(ddof=1)
    # And, where no floor of noise is all that is left, nearer to their mean than the limit is.
    if n > N and not noise:
        limit = asymptotics.fedrep(truth, **settings).squared_chordal[-1]
        middle = np.mean(np.exp(logs))
        assert abs(np.log(curve / middle)) < abs(np.log(limit / middle))


def test_a_far_start_with_few_participants_is_said():
    truth = truth_of(20, 10, 2)
    settings = {"m": 10, "step_size": 0.25, "rounds": 3}
    with pytest.warns(UserWarning, match=r"from a distance of 0\.9 with 2 participants"):
        finite.fedrep(truth, start=0.9, participation=0.1, **settings)
    finite.fedrep(truth, start=0.9, participation=1.0, **settings | {"rounds": 0})


@pytest.mark.parametrize(("k", "N", "share"), [(1, 1, 0.5), (2, 3, 0.9), (3, 6, 0.3), (2, 1, 0.5)])
def test_factors_are_slopes_of_the_curve(k, N, share):
    truth = truth_of(6, 12, k, equal=False)
    settings = {"m": k + 4, "participation": N / 6}
    limit = finite.step_limit(truth, **settings)
    close(finite.contraction(truth, step_size=limit, **settings), 1.0, 1e-9)
    rho = finite.contraction(truth, step_size=share * limit, **settings)
    assert rho < 1.0
    curve = finite.fedrep(truth, start=1e-7, rounds=400, step_size=share * limit, **settings)
    squares = curve.squared_chordal
    close(np.sqrt(squares[-1] / squares[-2]), rho, 1e-6)


@given(seeds, st.integers(1, 3), st.integers(1, 6), st.integers(5, 300))
def test_so_many_samples_are_enough_and_no_fewer(seed, k, N, d):
    truth = truth_of(6, d, k, seed=seed, equal=False)
    settings = {"participation": N / 6, "step_size": 0.02}
    least = finite.least_samples(truth, **settings)
    assert finite.contraction(truth, m=least, **settings) < 1.0
    if least > k + 2:
        assert finite.contraction(truth, m=least - 1, **settings) >= 1.0
    with pytest.raises(ValueError, match="step_size must be below"):
        finite.least_samples(truth, participation=N / 6, step_size=1000.0)


@pytest.mark.parametrize(
    ("n", "d", "m", "N", "share", "within"),
    [(20, 10, 10, 5, 0.25, 0.002), (20, 10, 10, 2, 0.25, 0.002), (20, 10, 10, 1, 0.25, 0.006)],
)
def test_a_typical_run_contracts_faster_than_the_mean_square(n, d, m, N, share, within):
    truth = truth_of(n, d, 2)
    settings = {"m": m, "step_size": step_of(truth, share), "participation": N / n}
    first, last, slopes = 40, 240, []
    for seed in range(60):
        run = lr.fedrep(truth, batches="gram", start=1e-3, rounds=last, rng=seed, **settings)
        slopes.append(np.log(run["distance"][last] / run["distance"][first]) / (last - first))
    measured = np.exp(np.mean(slopes))
    assert abs(finite.typical_contraction(truth, **settings) - measured) < within
    assert finite.contraction(truth, **settings) > measured + 0.002


@pytest.mark.parametrize(("k", "more", "share"), [(1, 2, 0.3), (2, 8, 0.9), (3, 4, 0.6)])
def test_isotropic_heads_have_a_closed_form(k, more, share):
    """a is the step; all clients take part."""
    n, d, m = 6 * k, 11, k + more
    truth = ImplicitRepresentation(np.sqrt(k) * np.eye(k)[np.arange(n) % k], d)
    noise = k * (d - k + 1.0) / n  # what is (d - k) omega/(rn) in the limit
    limit = 2.0 * m / (more + noise)
    close(finite.step_limit(truth, m=m), limit, 1e-9)
    a = share * limit
    rho = np.hypot(1.0 - a * more / m, a / m * np.sqrt(more * noise))
    close(finite.contraction(truth, m=m, step_size=a), rho, 1e-9)
    half = finite.contraction(truth, m=m, step_size=limit / 2.0)  # the best step
    close(half, np.sqrt(noise / (more + noise)), 1e-9)
    assert half <= rho + 1e-12
    noisy = ImplicitRepresentation(truth.W, d, 0.1)
    left = k * 0.01 * a * (d - k) / (n * m) / (2.0 - 2.0 * a / limit)
    close(finite.floor(noisy, m=m, step_size=a), left, 1e-9)


@pytest.mark.parametrize(
    ("k", "condition", "share", "step"),
    [(1, 1.0, 1.0, 0.8), (2, 3.0, 1.0, 0.5), (3, 2.0, 1.0, 1.0), (2, 2.0, 0.3, 0.5)],
)
def test_the_fluctuation_of_any_heads_is_the_formula(k, condition, share, step):
    truth = lr.SharedRepresentation.random(
        n=300, d=150, k=k, condition=condition, store=False, rng=0
    )
    settings = {"m": 8, "participation": share}
    settings["step_size"] = step / np.linalg.norm(truth.W, 2) ** 2 * truth.n
    logs = []
    for seed in range(200):
        run = lr.fedrep(truth, rounds=30, batches="gram", start=1e-3, rng=seed, **settings)
        logs.append(np.log(np.sum(run.state["Phi"] ** 2)) / 2)
    predicted = finite.fluctuation(truth, rounds=30, **settings)
    # 5 % is the error of a standard deviation of 200; equal heads would have 1.2 to 7 times it.
    assert abs(np.std(logs, ddof=1) / predicted - 1.0) < 0.18


def test_one_client_and_one_sample_more_than_needed_fluctuate():
    alone = ImplicitRepresentation(np.ones((1, 1)), 4, 0.0)
    assert 0.0 < finite.fluctuation(alone, m=5, step_size=0.5) < np.inf


def test_the_curve_of_a_run_takes_its_settings():
    truth = truth_of(200, 100, 2)
    options = {"m": 8, "step_size": 0.3, "start": 0.6, "participation": 0.5}
    curve = finite.fedrep(truth, rounds=4, **options)
    run = lr.fedrep(truth, rounds=4, batches="gram", rng=0, **options)
    close(finite.of_run(truth, run.settings).distance, curve.distance, 0.0)
    summed = options | {"step_size": 0.3 / 100, "normalization": "published"}
    run = lr.fedrep(truth, rounds=4, batches="gram", rng=0, **summed)
    close(finite.of_run(truth, run.settings).distance, curve.distance, 1e-12)
    split = lr.fedrep(truth, rounds=4, batches="gram_split", rng=0, **options)
    limit = asymptotics.fedrep(truth, rounds=4, batches="split", **options)
    close(finite.of_run(truth, split.settings).distance, limit.distance, 0.0)
    axes = run.plot(beside={"mean square": curve.distance})
    assert [line.get_label() for line in axes.lines] == ["FedRep", "mean square"]
