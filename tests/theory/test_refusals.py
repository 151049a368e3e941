"""What the theory refuses in one line, beside what test_domain.py asks of all of its formulas."""

import numpy as np
import pytest

import linrep as lr
from linrep.problems import ImplicitRepresentation
from linrep.theory import (
    asked,
    asymptotics,
    bound_lines,
    bounds,
    design_bounds,
    expectations,
    fedrep,
    fedrep_lemmas,
    fedrep_limits,
    finite,
    flute,
    flute_lift,
    flute_limit,
    flute_samples,
    minimax,
    pflmf,
    pflmf_rounds,
    requirements,
    sample_sizes,
)
from linrep.theory.flute import Spectrum
from tests.theory.support import FLAT, SIGNS, problem
from tests.tools import complaint

TRUTH, EYE = problem(0), np.eye(2)
UNIFORM = lr.SharedRepresentation(TRUTH.B, TRUTH.W, design="uniform")
IMPLICIT = ImplicitRepresentation(TRUTH.W, 40)
ALONE = ImplicitRepresentation(np.ones((1, 1)), 4)
MODELS = lr.LowRankRegression(np.eye(3, 4))
EQUAL = lr.LowRankRegression.random(n=6, d=5, singular_values=[1.0, 1.0, 0.5], rng=0)
SPECTRUM = Spectrum([3.0, 2.0, 0.5], 6, 4, 2, 0.3)

LOGISTIC = lr.LogisticObjectives(lr.ClientData(np.eye(2), np.ones(2), [0, 1, 2]))


def curve(truth=IMPLICIT, **options):
    given = {"step_size": 0.1, "rounds": 1, "start": 0.5, "m": 9} | options
    return lambda: asymptotics.fedrep(truth, **given)


def of_run(**options):
    truth = lr.SharedRepresentation.random(n=20, d=10, k=2, rng=0)
    run = lr.fedrep(truth, m=6, rounds=1, rng=0, **options)
    return lambda: finite.of_run(truth, run.settings)


def floor(truth=TRUTH, m=9, step_size=0.1, **options):
    return lambda: finite.floor(truth, m=m, step_size=step_size, **options)


def mean_rate(A, **options):
    problem = lr.QuadraticObjectives(A, **options)
    return lambda: asymptotics.pflmf.mean_rate(problem, k=2, step_size=0.1)


CALLS = [
    (lambda: bounds.cramer_rao(FLAT, 5), "W must have rank k = 2"),
    (lambda: bounds.known_heads(FLAT, 5), "W must have rank k = 2"),
    (lambda: bounds.cramer_rao(SIGNS, [1, 2]), "m must be one number or 4"),
    (lambda: bounds.cramer_rao(SIGNS, 2.5), "whole"),
    (lambda: bounds.known_representation(SIGNS, 5), "rademacher"),
    (lambda: bounds.cramer_rao(SIGNS, 5, given_design=True), "given_design"),
    (lambda: design_bounds.known_heads(SIGNS.draw(5, rng=0), TRUTH), "n = 4 and d = 3"),
    (lambda: expectations.least_squares_error(2.5, 3), "dimension must be whole"),
    (lambda: expectations.fourth_moment("cauchy"), "cauchy"),
    (lambda: expectations.moments_matrix([1.0]), "theta must have shape"),
    (
        lambda: expectations.moments_matrix([[1.0]], design="student_t", degrees_of_freedom=4),
        "degrees_of_freedom must be greater than 4",
    ),
    (lambda: fedrep.contraction(1, step_size=3), "step_size"),
    (lambda: fedrep.rounds(0.0, 0.5), "tolerance must be greater than 0"),
    (lambda: fedrep.rounds(0.1, 1.1), "contraction must be at most 1"),
    (lambda: fedrep.total_samples(2.0, 1, 1, 1), "tolerance must be at most 1"),
    (lambda: fedrep.sample_size(2, 1, 1, constant=0), "constant"),
    (lambda: fedrep.best_single_model([1.0]), "theta must have shape"),
    (lambda: fedrep.one_row_ratios([1.0]), "X must have shape"),
    (lambda: fedrep.witness_ratio(np.zeros((2, 2))), "zero"),
    (lambda: fedrep.condition(TRUTH, 7), "participants must be between 1 and 5"),
    (lambda: fedrep_lemmas.lemma_failure(1, d=1, k=1, participants=1), "between 2 and 6"),
    (lambda: fedrep_limits.coordinates(problem(0, d=3), 0.5), "d >= 2k = 4"),
    (lambda: fedrep_limits.coordinates(TRUTH, np.eye(3)), "B must have shape"),
    (lambda: fedrep_limits.population_round(EYE, np.eye(3), EYE, 0.1), "Phi must have shape"),
    (lambda: fedrep_limits.mean_gradient(np.ones((3, 2)), EYE, EYE, batches="both"), "both"),
    (
        lambda: fedrep_limits.gradient_bias(np.ones((3, 2)), EYE, EYE, m=3),
        "m must be at least k + 2 = 4",
    ),
    (
        lambda: fedrep_limits.effective_step_size(0.5, k=1, m=9, batches="split", variance=2.0),
        "lose B",
    ),
    (
        lambda: fedrep_limits.limit_distances(UNIFORM, 0.5, step_size=0.1, rounds=1, m=5),
        "m must be None",
    ),
    (lambda: minimax.prediction_error(2, 3, 4, 5, noise=1.0), "k must be at most"),
    (lambda: minimax.prediction_error(4, 3, 4, 0.5, noise=1.0), "whole"),
    (lambda: minimax.squared_chordal(FLAT, 5), "rank k = 2"),
    (lambda: minimax.squared_chordal(TRUTH, 5, radius=0.5), "radius must be below 0.5"),
    (floor(SIGNS), "gaussian"),
    (floor(FLAT), "rank k = 2"),
    (floor(m=3, batches="split"), "m must be at least 4"),
    (floor(participation=0.05), "selects none of 5"),
    (floor(batches="new"), "'split'"),
    (lambda: sample_sizes.sample_size_thresholds(FLAT), "rank k = 2"),
    (lambda: sample_sizes.sample_size_thresholds(SIGNS, tolerance=1.0), "tolerance"),
    (lambda: sample_sizes.sample_size_thresholds(SIGNS, initial_distance=1.0), "initial_distance"),
    (lambda: sample_sizes.sample_size_thresholds(SIGNS, participants=5), "participants"),
    (lambda: sample_sizes.sample_size_thresholds(SIGNS, constant=0.0), "constant"),
    (lambda: sample_sizes.incoherence(FLAT), "rank k = 2"),
    (lambda: bound_lines.lines(SIGNS, metric="distance"), "squared_chordal"),
    (lambda: bound_lines.lines(SIGNS)["heads known"](0), "total must be at least 1"),
    (lambda: asked(SPECTRUM, participants=3), "participants"),
    (lambda: asked(TRUTH, gap=1.0), "gap"),
    (lambda: asked(TRUTH, tolerance=1.0), "tolerance"),
    (lambda: asked(TRUTH, participants=13), "participants"),
    (lambda: requirements.standing(0.0, 1.0), "asked"),
    (lambda: requirements.standing(1.0, -1.0), "needed"),
    (lambda: Spectrum([1, 1, 1], n=2, d=3, k=1), "min(n, d) = 2"),
    (lambda: Spectrum([-1], n=2, d=3, k=1), "none negative"),
    (lambda: Spectrum([1, 1], n=2, d=3, k=3), "k must be between 1 and 2"),
    (lambda: flute.sizes(np.ones((2, 2))), "Theta"),
    (lambda: flute.entry_time(0.0, SPECTRUM, 0.1), "leading"),
    (lambda: flute_samples.theorem_5_1(SPECTRUM, 1.0, step_size=0.1), "tolerance"),
    (lambda: flute_samples.deviation(SPECTRUM, 2.0), "failure"),
    (lambda: flute_lift.lift(MODELS, np.eye(4, 2), np.eye(4, 2)), "B must have shape"),
    (lambda: flute_lift.lower(MODELS, np.eye(6, 2)), "Theta must have shape (8, any)"),
    (lambda: flute_lift.iterate(np.eye(4, 2), np.ones(4), 0.1, [2, 1]), "record"),
    (lambda: flute_lift.iterate(np.eye(4, 2), np.ones(4), 0.1, []), "record"),
    (lambda: flute_lift.iterate(np.ones(4), np.ones(4), 0.1, [1]), "Theta"),
    (
        lambda: flute_lift.discrepancy(
            MODELS.draw(1, rng=0), np.eye(3), np.eye(3, 1), np.eye(4, 1), 0.1
        ),
        "Phi",
    ),
    (lambda: asymptotics.flute.floor(EQUAL, 1, 50), "above the next one"),
    (lambda: flute_limit.perturbation(EQUAL, 1, 50), "above the next one"),
    (lambda: flute_limit.perturbation(MODELS, 3, 50, failure=0.0), "failure"),
    (lambda: flute_limit.limit(MODELS, 3, flute_limit.Perturbation(0.0, -1.0, 0.0)), "noise"),
    (lambda: flute_limit.sufficient_samples(MODELS, 3, 0.0), "tolerance"),
    (lambda: asymptotics.flute.local_rate(EQUAL, 1, step_size=0.1), "k = 1 above the next one"),
    (curve(m=3), "m must be at least 4 for 'same' batches"),
    (curve(m=5, batches="split"), "m must be at least 6 for 'split' batches"),
    (curve(head_step_size=0.1), "head_step_size needs local_steps"),
    (curve(local_steps=1, participation=0.5), "local_steps need"),
    (curve(start=(EYE, EYE)), "start must be a pair"),
    (curve(UNIFORM), "gaussian"),
    (of_run(batches="fixed"), "batches"),
    (of_run(start="random"), "start must be given"),
    (of_run(orthonormal=False), "QR"),
    (lambda: finite.of_run(TRUTH, {"m": 5}), "settings must be those of a run of FedRep"),
    (lambda: finite.fluctuation(ALONE, m=5, step_size=0.5, participation=0.4), "selects none"),
    (
        lambda: finite.fluctuation(ImplicitRepresentation(TRUTH.W, 2), m=5, step_size=0.5),
        "d > k",
    ),
    *(
        (lambda call=call: call(ImplicitRepresentation(TRUTH.W, 2)), "d > k")
        for call in (
            lambda truth: finite.contraction(truth, m=5, step_size=0.5),
            lambda truth: finite.step_limit(truth, m=5),
            lambda truth: finite.least_samples(truth, step_size=0.1),
        )
    ),
    (mean_rate(np.eye(3)), "k + 1"),
    (mean_rate(np.ones((3, 2))), "k + 1"),
    (mean_rate(np.eye(3), H=np.eye(3)), "problem"),
    (mean_rate(np.eye(3), weights=np.ones((3, 3))), "problem"),
    (
        lambda: pflmf_rounds.expected_round(
            pflmf.Setting(0.4, 3, 0.1, 1.0, 1.0, noise=0.1), LOGISTIC, EYE, EYE
        ),
        "exact for quadratic functions only",
    ),
]


@pytest.mark.parametrize(("call", "words"), CALLS, ids=[words for _, words in CALLS])
def test_what_is_wrong_is_named(call, words):
    with complaint(ValueError, words):
        call()
