import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from tests.reference import perfedsi as naive
from tests.strategies import seeds
from tests.tools import complaint


def problem(rng, n=6, d=5, p=3, k=2):
    return SideInformationCompletion.random(n=n, d=d, p=p, k=k, rng=rng)


@given(seeds, st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_loss_and_gradients_are_those_of_the_definition(seed, n, d, p, k):
    rng = np.random.default_rng(seed)
    truth = problem(rng, n, d, p, min(k, d, p))
    U, V = rng.standard_normal((d, k)), rng.standard_normal((p, k))
    loss, in_U, in_V = theory.loss_and_gradients(truth, U, V)
    np.testing.assert_allclose(loss, naive.loss(U, V, truth.M, truth.Z), rtol=1e-10)
    for gradient, place in ((in_U, 0), (in_V, 1)):
        for index in np.ndindex(gradient.shape):
            sides = []
            for sign in (1.0, -1.0):
                point = [U.copy(), V.copy()]
                point[place][index] += sign * 1e-5
                sides.append(naive.loss(*point, truth.M, truth.Z))
            scale = max(1.0, np.abs(gradient).max())
            assert abs((sides[0] - sides[1]) / 2e-5 - gradient[index]) < 1e-6 * scale


def test_the_expected_step_is_enumerated(fresh_rng):
    truth = problem(fresh_rng)
    U, V = fresh_rng.standard_normal((5, 2)), fresh_rng.standard_normal((3, 2))
    moves = [
        naive.local_step(U, V, item, truth.M[item] @ z, z, 1.0)
        for z in truth.Z
        for item in range(5)
    ]
    expected = theory.expected_step(truth, U, V)
    np.testing.assert_allclose(np.mean([U - new for new, _ in moves], axis=0), expected[0])
    np.testing.assert_allclose(np.mean([V - new for _, new in moves], axis=0), expected[1])


@given(seeds, st.integers(3, 12), st.integers(1, 3))
def test_scaling_is_the_least_that_satisfies_the_assumption(seed, n, p):
    Z = np.random.default_rng(seed).standard_normal((n, p))
    c_z, mu_z = theory.scaling(Z)
    values = np.linalg.eigvalsh(Z.T @ Z) / n
    # Eigenvalues of the product are known only relative to the largest one.
    slack, error = 1.0 + 1e-9, 1e-14 * values.max()
    assert values.min() * slack + error >= 1.0 / c_z
    assert values.max() <= c_z * slack
    assert c_z == 1.0 or not (values.min() - error >= slack / c_z and values.max() * slack <= c_z)
    rows = np.sum(Z**2, axis=1)
    assert rows.max() <= mu_z * p * slack


def test_scaling_of_known_side_information():
    assert theory.scaling(np.eye(4)) == (4.0, 1.0)
    assert theory.scaling(np.ones((4, 2))).c_z == np.inf
    iso = (
        problem(0, n=9).Z * 0.0
        + np.linalg.qr(np.random.default_rng(0).normal(size=(6, 3)))[0][np.arange(9) % 6]
    )
    assert theory.scaling(iso).c_z >= 1.0


def test_incoherence_lies_between_its_extremes(fresh_rng):
    d, r = 8, 2
    assert theory.incoherence(np.eye(d, r)) == pytest.approx(d / r)
    flat = np.linalg.qr(fresh_rng.standard_normal((d, r)))[0]
    assert 1.0 - 1e-12 <= theory.incoherence(flat) <= d / r
    assert theory.incoherence(np.zeros((d, r))) == 0.0
    thin = np.outer(np.ones(d), [1.0, 0.0])
    assert theory.incoherence(thin) == pytest.approx(1.0 / r)


def test_regularity_is_the_definitions(fresh_rng):
    truth = problem(fresh_rng)
    U = truth.U + 0.1 * fresh_rng.standard_normal((6, 5, 2))
    V = truth.V + 0.1 * fresh_rng.standard_normal((6, 3, 2))
    found = theory.regularity(truth, U, V, loss=0.7, c_0=0.5)
    sigma = truth.singular_values
    norms, losses, rows, errors = [], [], [], []
    for Ui, Vi, z in zip(U, V, truth.Z, strict=True):
        e = (Ui @ Vi.T - truth.M) @ z
        norms += [np.linalg.norm(Ui, 2), np.linalg.norm(Vi, 2)]
        losses.append(0.5 * e @ e)
        rows.append(max(row @ row for row in Ui))
        errors.append(np.abs(e).max() ** 2 / (e @ e))
    assert found.norms == pytest.approx(max(norms) / np.sqrt(sigma[0]))
    assert found.loss == pytest.approx(max(losses) / min(0.7, 0.5 * sigma[1] ** 2))
    assert found.rows == pytest.approx(max(rows) * 5 / (2 * sigma[0]))
    assert found.errors == pytest.approx(max(errors) * 5)


def test_statements_have_the_printed_constants():
    setting = theory.Setting(d=16, p=4, k=2, largest=3.0, smallest=2.0, c=1.5, mu=2.5, c_z=1.2)
    limit = theory.step_size_limit(setting, 5)
    assert limit == pytest.approx(2 / (132 * 8 * 2 * 5 * 2.5**2 * 9 * 1.5**5 * 1.2**4))
    assert theory.pl_constant(setting) == pytest.approx(2 / (1.5 * 1.44))
    assert theory.smoothness(setting) ** 2 == pytest.approx(1.44 * (32 * 1.5**4 + 4) * 9)
    rate = theory.contraction(setting, step_size=0.1, local_steps=5)
    assert rate == pytest.approx(1 - 0.5 * 0.1 * 5 * 2 / (1.5 * 1.2**3 * 16))
    slow = theory.contraction(setting, step_size=0.1, local_steps=5, with_p=True, c_z_power=2)
    assert slow == pytest.approx(1 - 0.5 * 0.1 * 5 * 2 / (1.5 * 1.44 * 16 * 4))
    in_U, in_V = theory.second_moments(
        setting, step_size=0.1, local_steps=5, participants=4, loss=0.3
    )
    assert in_U == pytest.approx(0.25 * 4 * (1 / 64 + 1 / 256) * 1.5 * 2.5 * 3 * 0.3)
    assert in_V == pytest.approx(0.25 * 4 * 2 * (1.5 + 2.5) * 2.5 * 3 / 256 * 0.3)
    assert theory.drift(setting, step_size=0.1, steps=5, loss=0.3) == pytest.approx(
        6 * 0.1 * 8 * 5 / 16 * 1.5**3 * 2.5**1.5 * 3**1.5 * np.sqrt(0.3)
    )
    assert theory.gradient_bound(setting, 0.3) == pytest.approx(1.5 * np.sqrt(1.2) * 3 * 0.3)
    assert theory.gradient_bound(setting, 0.3, root=True) == pytest.approx(
        2 * 1.5 * np.sqrt(1.2 * 3 * 0.3)
    )


def test_corrected_statements_have_their_constants():
    setting = theory.Setting(d=16, p=4, k=2, largest=3.0, smallest=2.0, c=1.5, mu=2.5, c_z=1.2)
    limit = theory.step_size_limit(setting, 5, c_power=7.0, condition_power=1.0)
    assert limit == pytest.approx(4 / (132 * 8 * 2 * 5 * 2.5**2 * 27 * 1.5**7 * 1.2**4))
    share = theory.decrease(setting, step_size=0.1, local_steps=5, c_power=2.0, condition_power=1.0)
    assert share == pytest.approx(0.5 * 0.1 * 5 * 4 / (1.5**2 * 3 * 1.2**3 * 16))
    in_U, in_V = theory.second_moments(
        setting, step_size=0.1, local_steps=5, participants=4, loss=0.3, mu_z=1.5, mu_U=3.5,
        factor=2.0, norm_power=2.0, loss_power=1.0,
    )  # fmt: skip
    assert in_U == pytest.approx(2 * 0.25 * 4 * (1 / 64 + 1 / 256) * 1.5**3 * 1.5 * 3 * 0.3)
    assert in_V == pytest.approx(2 * 0.25 * 4 * 2 * 1.5 * (1.5**2 + 3.5) * 1.5 * 3 / 256 * 0.3)


def test_rounds_reach_the_tolerance():
    setting = theory.Setting(d=16, p=4, k=2)
    t = theory.rounds(setting, 1e-3, local_steps=5)
    rate = theory.contraction(setting, step_size=theory.step_size_limit(setting, 5), local_steps=5)
    assert rate ** (t - 1.0) == pytest.approx(1e-3)
    assert theory.rounds(setting, 1.0, local_steps=5) == 1.0


def test_bias_risks_are_residuals(fresh_rng):
    Z, b = fresh_rng.standard_normal((7, 2)), fresh_rng.standard_normal(7)
    assert theory.bias_risk(np.ones((7, 1)), b) == pytest.approx(0.5 * np.var(b))
    fitted = Z @ np.linalg.solve(Z.T @ Z, Z.T @ b)
    assert theory.bias_risk(Z, b) == pytest.approx(0.5 * np.mean((b - fitted) ** 2))
    assert theory.bias_risk(np.eye(7), b) == pytest.approx(0.0, abs=1e-25)
    assert theory.bias_risk(Z, b, d=5, m=1) == np.inf


def test_settings_come_from_a_truth(fresh_rng):
    truth = problem(fresh_rng)
    setting = theory.Setting.of(truth, c=2.0, mu=3.0)
    assert (setting.d, setting.p, setting.k) == (5, 3, 2)
    assert setting.c_z == theory.scaling(truth.Z).c_z
    with pytest.raises(ValueError, match="c must be greater than 0"):
        theory.Setting.of(truth, c=0.0, mu=1.0)


@given(seeds, st.booleans())
def test_entries_determine_the_truth_where_no_direction_keeps_them(seed, side):
    """Naive: all directions of (U, V), by differences; those that keep every entry are k^2."""
    rng = np.random.default_rng(seed)
    truth = problem(rng, n=6, d=5, p=3, k=2)
    seen = truth.observe(entries=int(rng.integers(8, 28)), rng=rng)
    known = truth if side else truth.without_side_information()
    seen = seen if side else seen.without_side_information()

    def entries(point):
        U, V = point[: truth.d * 2].reshape(-1, 2), point[truth.d * 2 :].reshape(-1, 2)
        return (U @ V.T @ known.Z.T)[seen.items, seen.clients]

    point = np.concatenate([known.U.ravel(), known.V.ravel()])
    # Differences of a quadratic map are exact.
    columns = [entries(point + e) - entries(point - e) for e in np.eye(len(point))]
    kept = len(point) - np.linalg.matrix_rank(np.array(columns).T, tol=1e-9)
    assert theory.determines_truth(seen) == (kept == 4)


def test_an_item_seen_less_often_than_the_rank_is_not_determined(fresh_rng):
    truth = problem(fresh_rng, n=20, d=8, p=3, k=2)
    seen = truth.observe(per_client=6, rng=fresh_rng)
    assert theory.determines_truth(seen)
    kept = ~((seen.items == 3) & (np.cumsum(seen.items == 3) > 1))
    few = lr.Observations(
        seen.items[kept], seen.clients[kept], seen.values[kept], seen.Z, d=8, truth=truth
    )
    assert few.per_item[3] == 1
    assert not theory.determines_truth(few)
    with complaint(ValueError, "truth"):
        theory.determines_truth(lr.Observations([0, 1], [0, 1], [1.0, 2.0]))


def test_local_regularity_is_that_of_each_truth(fresh_rng):
    truths = [problem(fresh_rng) for _ in range(3)]
    U, V = fresh_rng.standard_normal((3, 6, 5, 2)), fresh_rng.standard_normal((3, 6, 3, 2))
    levels = np.array([0.3, 0.7, 5.0])
    found = theory.local_regularity(
        *(np.stack([getattr(truth, name) for truth in truths]) for name in ("U", "V", "Z")),
        np.stack([truth.singular_values for truth in truths]), U, V, loss=levels, c_0=0.8,
    ).worst()  # fmt: skip
    for place, truth in enumerate(truths):
        alone = theory.regularity(truth, U[place], V[place], loss=levels[place], c_0=0.8)
        for value, expected in zip(found, alone, strict=True):
            assert value[place] == pytest.approx(expected, rel=1e-10)


def test_alignment_is_that_of_singular_vectors(fresh_rng):
    truth = problem(fresh_rng)
    U, V = fresh_rng.standard_normal((5, 2)), fresh_rng.standard_normal((3, 2))
    X, _, Y = np.linalg.svd(truth.M @ truth.Z.T)
    found = theory.alignment(truth, U, V)
    expected = [
        np.linalg.svd(A, compute_uv=False)[-1] ** 2
        for A in (Y[:2] @ truth.Z @ V, truth.Z, X[:, :2].T @ U)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_norms_have_the_floor_that_small_errors_leave(fresh_rng):
    truth = problem(fresh_rng)
    c = 3.0
    assert np.linalg.norm(truth.V / c, 2) == pytest.approx(theory.norm_floor(c, 0.0))
    assert theory.norm_floor(c, 0.25) == pytest.approx(0.5 / c)


def test_smoothness_is_attained_by_scalars():
    c, h = 0.6, 1e-6
    truth = SideInformationCompletion([[1.0]], [[-1.0]], [[1.0]])
    setting = theory.Setting.of(truth, c=c, mu=1.0)
    one, other = (theory.loss_and_gradients(truth, [[size]], [[size]])[1:] for size in (c, c - h))
    change = np.hypot(*(float(a[0, 0] - b[0, 0]) for a, b in zip(one, other, strict=True)))
    assert change / (np.sqrt(2.0) * h) == pytest.approx(theory.smoothness_sharp(setting), rel=1e-5)
    assert theory.pl_constant_near(setting) == pytest.approx(1.125 / 0.36)
    assert theory.pl_constant_near(setting, power=1.0) == pytest.approx(1.125 / 0.6)


def test_rounds_are_told_where_the_rate_is_below_rounding():
    setting = theory.Setting(d=16, p=4, k=2, c=6.0, mu=16.0, c_z=8.0)
    assert 1e17 < theory.rounds(setting, 1e-6, local_steps=5) < 1e22
