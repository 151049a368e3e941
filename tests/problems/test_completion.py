import numpy as np
import pytest

from linrep.problems import SideInformationCompletion


def problem(**options):
    return SideInformationCompletion.random(
        **({"n": 12, "d": 7, "p": 4, "k": 2, "rng": 0} | options)
    )


@pytest.mark.parametrize("side", ["gaussian", "unit", "isometric"])
def test_a_random_truth_has_the_singular_values_and_side_information_asked_for(side):
    truth = problem(side=side, singular_values=[1.0, 3.0])
    np.testing.assert_allclose(truth.singular_values, [3.0, 1.0], rtol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(truth.M)[1][:2], [3.0, 1.0], rtol=1e-12)
    if side == "unit":
        np.testing.assert_allclose(np.linalg.norm(truth.Z, axis=1), 1.0)
    if side == "isometric":
        np.testing.assert_allclose(truth.Z.T @ truth.Z, 12.0 * np.eye(4), atol=1e-12)


def test_side_information_of_a_given_condition():
    size = np.linalg.svd(problem(side="isometric", condition=5.0).Z)[1]
    np.testing.assert_allclose([size[0] / size[-1], np.mean(size**2)], [5.0, 12.0])


def test_entries_are_those_of_the_matrix_which_is_the_same_without_side_information():
    truth = problem()
    Y, other = truth.M @ truth.Z.T, truth.without_side_information()
    items, clients = np.nonzero(np.ones_like(Y))
    np.testing.assert_allclose(truth.entries(items, clients), Y[items, clients], atol=1e-12)
    assert other.p == truth.n
    np.testing.assert_allclose(other.M @ other.Z.T, Y, atol=1e-12)


def test_observed_entries_are_distinct_and_counted():
    truth = problem(noise=0.0)
    seen = truth.observe(3, rng=1)
    assert len(seen) == 36
    np.testing.assert_array_equal(seen.per_client, 3)
    np.testing.assert_array_equal(seen.per_item, np.bincount(seen.items, minlength=7))
    np.testing.assert_array_equal(seen.offsets, np.arange(0, 37, 3))
    np.testing.assert_array_equal(seen.values, truth.entries(seen.items, seen.clients))
    some = truth.observe(entries=50, rng=1)
    assert len(set(zip(some.items.tolist(), some.clients.tolist(), strict=True))) == 50
    assert some.degrees_of_freedom(2) == 2 * (7 + 4 - 2)
    assert some.without_side_information().degrees_of_freedom(2) == 2 * (7 + 12 - 2)


def test_every_entry_is_as_likely_as_another():
    seen = np.zeros((7, 12))
    for seed in range(600):
        some = problem().observe(entries=21, rng=seed)
        seen[some.items, some.clients] += 1
    # Binomial(600, 1/4) has standard deviation 10.6: five of them among 84 entries.
    assert np.abs(seen - 150.0).max() < 53.0


def test_noise_is_added_to_what_is_seen():
    truth = problem(n=400, d=50, noise=0.5)
    seen = truth.observe(entries=20_000, rng=0)
    rest = seen.values - truth.entries(seen.items, seen.clients)
    assert abs(rest.std() - 0.5) < 0.02


def test_a_split_is_disjoint_and_keeps_everything():
    seen = problem().observe(entries=40, rng=0)
    train, test = seen.split(0.25, rng=1)
    assert (len(train), len(test)) == (30, 10)
    pairs = [set(zip(part.items, part.clients, strict=True)) for part in (train, test, seen)]
    assert pairs[0] | pairs[1] == pairs[2]
    assert train.truth is seen.truth


def test_a_hundred_thousand_million_entries_are_sampled_without_being_formed():
    truth = problem(n=10**6, d=10**5)
    assert len(truth.observe(entries=1000, rng=0)) == 1000
