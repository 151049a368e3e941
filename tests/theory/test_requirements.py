"""What theorems ask for, beside formulas written out and beside the statements themselves."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.theory import asked, fedrep, finite_bounds, flute_samples, perfedsi, pflmf, requirements
from linrep.theory.flute import Spectrum, step_size_limits
from tests.reference import requirements as naive
from tests.tools import close

WHOLE = lr.SharedRepresentation.random(n=12, d=9, k=2, rng=0)
SPECTRUM = Spectrum([3.0, 2.0, 0.5], 6, 4, 2, 0.3)


def row(rows, place, quantity, source=None):
    """Return the one row of a place and a quantity."""
    (found,) = (
        each
        for each in rows
        if (each.place, each.quantity) == (place, quantity) and source in (None, each.source)
    )
    return found


def test_fedrep_asks_for_what_theorem_1_prints():
    rows = asked(WHOLE, tolerance=0.05, initial_distance=0.4, participants=6, constant=3.0)
    kappa = fedrep.condition(WHOLE, 6)
    found = row(rows, "Theorem 1", "samples per client and round", "given")
    close(found.asked / (naive.fedrep_samples(9, 2, 6, kappa, 0.4, 3.0)), 1.0, 1e-12)
    proof = row(rows, "Theorem 1", "samples per client and round", "proof")
    close(
        proof.asked / (naive.fedrep_samples(9, 2, 6, kappa, 0.4, naive.fedrep_proof(33))),
        1.0,
        1e-12,
    )
    step = row(rows, "Theorem 1", "step size")
    assert step.bound == "at most"
    close(step.asked / (1 / (4 * WHOLE.sigma_max(6) ** 2)), 1.0, 1e-12)
    factor = fedrep.contraction(WHOLE.sigma_min(6), step_size=step.asked, initial_distance=0.4)
    T = row(rows, "(11)", "rounds").asked
    assert 0.4 * factor**T <= 0.05 * (1 + 1e-9) < 0.4 * factor ** (T - 1)
    total = row(rows, "(12)", "samples per client in all", "given").asked
    close(total / (3.0 * kappa**4 * 4 * (9 / 6 + 2 * math.log(6)) * math.log(20)), 1.0, 1e-12)
    start = row(rows, "Theorem 2", "samples per client of the start")
    smallest = WHOLE.sigma_min() / math.sqrt(2)
    close(start.asked / (3.0 * WHOLE.condition**2 * 18 / (smallest**2 * 12)), 1.0, 1e-12)


def test_with_normal_x_fedrep_asks_for_what_is_proved():
    rows = asked(WHOLE, tolerance=0.05, initial_distance=0.4, participants=6, failure=0.01)
    found = row(rows, "Theorem 1, normal x", "samples per client and round").asked
    smallest, largest, E0 = WHOLE.sigma_min(6) ** 2, WHOLE.sigma_max(6) ** 2, 1 - 0.4**2
    T = naive.rounds_of_a_factor(1 - E0 * smallest / largest / 2, 0.05 / 0.4)
    t = math.log(7 * T / 0.01)
    together = 900 * 2 * (9 + 2 * t) * largest / (6 * E0**2 * smallest**2)
    close(found / max(64 * (2 + 2 * math.log(6) + 2 * t), together), 1.0, 1e-9)
    many = lr.SharedRepresentation.random(n=40, d=9, k=2, rng=0)  # too many subsets of 20
    places = {each.place for each in asked(many, participants=20)}
    assert "Theorem 1, normal x" not in places
    signs = lr.SharedRepresentation(WHOLE.B, WHOLE.W, design="rademacher")
    assert "Theorem 1, normal x" not in {each.place for each in asked(signs)}


def test_at_finite_sizes_fedrep_asks_for_what_makes_the_proved_factor_less_than_one():
    settings = {"initial_distance": 0.1, "participants": 6}
    rows = asked(WHOLE, failure=0.2, **settings)
    m = row(rows, "Theorem 1, finite sizes", "samples per client and round").asked
    step = row(rows, "Theorem 1", "step size").asked

    def factors(m):
        for q in range(2, 22, 2):
            if m >= 2 + q:
                yield finite_bounds.contraction(
                    WHOLE, m=m, step_size=step, within=0.1 * 2**0.5 / 0.2 ** (1 / q),
                    participation=0.5, moment=q,
                )  # fmt: skip

    assert min(factors(int(m))) < 1.0
    assert m == 4 or min(factors(int(m) - 1)) >= 1.0
    noisy = lr.SharedRepresentation(WHOLE.B, WHOLE.W, 0.1)
    assert "Theorem 1, finite sizes" not in {each.place for each in asked(noisy, **settings)}


def test_clients_that_do_not_span_ask_for_infinitely_many_samples():
    rows = asked(WHOLE, participants=1)
    found = row(rows, "Theorem 1", "samples per client and round", "given")
    assert found.asked == math.inf
    assert not found.possible
    assert row(rows, "Theorem 1, normal x", "samples per client and round").asked == math.inf


@given(st.integers(1, 2), st.floats(0.01, 0.5), st.floats(0.05, 1.0))
def test_flute_asks_for_what_its_theorem_and_its_proof_have(k, tolerance, share):
    spectrum = Spectrum([3.0, 2.0, 0.5], 6, 4, k, 0.3)
    eta = share * step_size_limits(spectrum)["theorem_5_1"]
    rows = asked(spectrum, tolerance=tolerance, step_size=eta, failure=0.1, constant=2.0)
    found = row(rows, "Theorem 5.1", "samples per client", "given").asked
    printed = flute_samples.theorem_5_1(
        spectrum, tolerance, step_size=eta, failure=0.1, constant=2.0
    )
    close(found / float(printed), 1.0, 1e-12)
    t = row(rows, "Theorem 5.1", "rounds", "proof").asked
    proof = row(rows, "Theorem 5.1", "samples per client", "proof").asked
    by_hand = naive.flute_proof([3.0, 2.0, 0.5, 0.0], k, 6, 0.3, eta, t, 0.1 / t, 1 / 144)
    close(proof / by_hand, 1.0, 1e-9)
    assert proof > found
    # After these rounds the bound of the proof is the tolerance.
    gap = 2 * (spectrum.singular_values[k - 1] - spectrum.singular_values[k])
    left = 1600 * 9 * math.sqrt(k / 6) / (eta * gap**2) * (1 - eta * gap / 16) ** t
    close(left / tolerance, 1.0, 1e-8)


@given(st.floats(1.0, 1.2), st.floats(1.0, 1.3), st.integers(1, 3), st.floats(0.8, 0.99))
def test_perfedsi_asks_for_the_rounds_that_its_factor_takes(c, mu, tau, tolerance):
    setting = perfedsi.Setting(3, 1, 1, 1.2, 1.0, c, mu, 1.1, mu_z=1.05)
    rows = asked(setting, tolerance=tolerance, local_steps=tau)
    for place, corrected in (("Theorem C.4", False), ("Theorem C.4, corrected", True)):
        eta = naive.perfedsi_step(1.2, 1.0, c, mu, 1.1, 1, 1, tau, corrected=corrected)
        close(row(rows, place, "step size").asked / eta, 1.0, 1e-12)
        factor = naive.perfedsi_factor(eta, tau, 1.2, 1.0, c, 1.1, 3, 1, corrected=corrected)
        T = naive.rounds_of_a_factor(factor, tolerance, before=1)
        assert T - 1 - 1e-6 <= row(rows, place, "rounds").asked <= T * (1 + 1e-9)
    step = row(rows, "Theorem 3.3, near", "step size").asked
    close(step * 21 * tau * 1.05 * 1.2, 1.0, 1e-12)
    by_default, given = (perfedsi.Setting(3, 1, 1, mu=mu, mu_z=each) for each in (None, mu))
    assert perfedsi.near_truth(by_default, tau) == perfedsi.near_truth(given, tau)
    left = (1 - step * tau / (1.1 * 3)) ** row(rows, "Theorem 3.3, near", "rounds").asked
    close(left / tolerance, 1.0, 1e-9)
    printed = row(rows, "Theorem C.4", "rounds").asked
    close(printed / (perfedsi.rounds(setting, tolerance, local_steps=tau, with_p=True)), 1.0, 1e-12)


@given(
    st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.05, 0.95), st.floats(0.01, 0.9),
    st.sampled_from([0.0, 0.1, 3.0]),
)  # fmt: skip
def test_pflmf_asks_for_the_rounds_after_which_its_bounds_are_met(L, gap, share, tolerance, sigma):
    setting = pflmf.Setting(0.5, 2, 0.5 * share / L, L, L, noise=sigma)
    rows = asked(setting, tolerance=tolerance, gap=gap)
    goal = tolerance * L * gap
    T = row(rows, "Theorem 1", "rounds").asked
    if math.isfinite(T):
        close(naive.pflmf_bound(gap, L, setting.step_size, T, sigma) / goal, 1.0, 1e-9)
    else:  # what the noise leaves
        assert naive.pflmf_bound(gap, L, setting.step_size, 1e300, sigma) >= goal * (1 - 1e-9)
    T = row(rows, "Corollary 2", "rounds").asked
    close(naive.pflmf_corollary(gap, L, T, sigma) / goal, 1.0, 1e-9)
    T = row(rows, "Theorem 1, sharp", "rounds").asked
    bound = naive.pflmf_sharp(gap, L, setting.step_size, min(T, 1e300), sigma, 0.5, 2)
    close(bound / goal, 1.0, 1e-9) if math.isfinite(T) else close(max(goal / bound, 1.0), 1.0, 1e-9)
    T = row(rows, "Theorem 1, sharp, best step", "rounds").asked
    steps = np.geomspace(1e-8, 0.999, 10_001) / L
    least = min(naive.pflmf_sharp(gap, L, eta, T, sigma, 0.5, 2) for eta in steps)
    assert goal * (1 - 1e-9) <= least <= goal * 1.01


def test_a_step_that_the_theorem_does_not_allow_has_no_rounds():
    rows = asked(pflmf.Setting(0.5, 2, 1.0, 1.0, 1.0))
    assert [each.quantity for each in rows if each.place == "Theorem 1"] == ["step size"]


@pytest.mark.parametrize(
    ("amounts", "at_least", "expected"),
    [
        ((5.0, 10.0), True, "too little"),
        ((10.0, 10.0), True, "tight"),
        ((100.0, 10.0), True, "tight"),
        ((101.0, 10.0), True, "loose"),
        ((1e15, 10.0), True, "loose"),
        ((1.1e15, 10.0), True, "out of reach"),
        ((np.inf, np.inf), True, "out of reach"),
        ((0.1, 1.0), False, "tight"),
        ((1e-20, 1.0), False, "loose"),
        ((2.0, 1.0), False, "too little"),
    ],
)
def test_standing(amounts, at_least, expected):
    assert requirements.standing(*amounts, at_least=at_least) == expected


def test_rows_make_a_table():
    table = pd.DataFrame(asked(SPECTRUM))
    assert set(table["paper"]) == {"FLUTE"}
    assert table["function"].str.startswith(("flute.", "flute_samples.")).all()
