import numpy as np
import pytest

from linrep.claims.instances import Reader
from linrep.papers.perfedsi import _instances as instances
from linrep.papers.perfedsi.lemma_c05 import _flattest
from linrep.theory import perfedsi as theory


def _length(shape):
    reader = Reader()
    instances.read(reader, shape)
    return reader.count


@pytest.mark.parametrize("shape", instances.SHAPES)
def test_numbers_make_factors_near_the_truth(shape, fresh_rng):
    x = fresh_rng.standard_normal(_length(shape))
    x[0] = 8.0
    truth, U, V = instances.read(Reader(x), shape)
    assert U.shape == (shape["d"], shape["k"])
    np.testing.assert_allclose(U @ V.T, truth.M, atol=1e-4)
    assert instances.read(Reader(np.zeros_like(x)), shape) is None


def test_needs_are_those_of_all_clients(fresh_rng):
    truth = instances.random_truth((2.0, 1.0), 4.0, fresh_rng)
    U, V = fresh_rng.standard_normal((6, 2)), fresh_rng.standard_normal((4, 2))
    found, share = instances.needed(truth, U, V)
    largest = max(0.5 * np.sum(((U @ V.T - truth.M) @ z) ** 2) for z in truth.Z)
    assert found.norms == pytest.approx(
        max(np.linalg.norm(U, 2), np.linalg.norm(V, 2)) / np.sqrt(2.0)
    )
    assert share == pytest.approx(2.0 * 4.0 * largest)
    assert instances.needed(truth, 0.1 * U, 0.1 * V)[0].norms == 1.0


@pytest.mark.parametrize("aligned", [False, True])
def test_truths_have_the_scaling_asked_for(aligned, fresh_rng):
    truth = instances.random_truth((3.0, 1.0), 5.0, fresh_rng, aligned=aligned)
    np.testing.assert_allclose(truth.singular_values, [3.0, 1.0])
    assert theory.scaling(truth.Z).c_z == pytest.approx(5.0)
    if aligned:
        weakest = truth.V[:, 1]
        assert weakest @ truth.Z.T @ truth.Z @ weakest / truth.n == pytest.approx(0.2)


@pytest.mark.parametrize("side", ["U", "V"])
def test_splits_are_factorizations(side, fresh_rng):
    truth = instances.random_truth((3.0, 1.0), 5.0, fresh_rng)
    U, V = instances.split(truth, 0.5, side)
    np.testing.assert_allclose(U @ V.T, truth.M, atol=1e-12)
    small = {"U": U, "V": V}[side]
    np.testing.assert_allclose(np.linalg.svd(small, compute_uv=False), 0.5)


def test_no_small_error_is_flatter_than_the_flattest(fresh_rng):
    truth = instances.random_truth((2.0, 1.0), 3.0, fresh_rng)
    U, V = instances.split(truth, 0.7, "V")
    ratios = []
    for _ in range(200):
        moves = (1e-6 * fresh_rng.standard_normal(A.shape) for A in (U, V))
        loss, slope = instances.sizes(truth, *(A + m for A, m in zip((U, V), moves, strict=True)))
        ratios.append(slope**2 / loss)
    assert min(ratios) > _flattest(truth, U, V) * (1.0 - 1e-3)


def test_the_flattest_is_that_of_the_jacobian(fresh_rng):
    truth = instances.random_truth((2.0, 1.0), 4.0, fresh_rng)
    U, V = instances.split(truth, 0.7, "U")
    values, directions = np.linalg.eigh(truth.Z.T @ truth.Z / truth.n)
    root = directions * np.sqrt(values) @ directions.T  # symmetric, unlike Cholesky's
    columns = []
    for A, moved in ((U, lambda D: D @ V.T @ root), (V, lambda D: U @ D.T @ root)):
        for index in np.ndindex(A.shape):
            D = np.zeros_like(A)
            D[index] = 1.0
            columns.append(moved(D).ravel())
    found = np.linalg.svd(np.array(columns).T, compute_uv=False)
    assert _flattest(truth, U, V) == pytest.approx(2.0 * found[found > 1e-9][-1] ** 2)


def test_vanishing_factors_stay_in_one_event():
    runs = list(instances.vanishing_runs())
    assert len(runs) == 15
    for d, size, iterates in runs:
        assert len(iterates) == 4
        norms = [np.linalg.norm(U) for U, _ in iterates]
        assert max(norms) <= 2.0 * size
        U, V = iterates[0]
        found = 0.5 * np.sum((U @ V.T - np.full((d, 1), d**-0.5) @ np.eye(1, 2)) ** 2)
        assert found <= 0.5
