"""Every setting is honoured or refused by every implementation that another setting chooses."""

from functools import cache
from inspect import signature
from itertools import product

import numpy as np
import pytest

import linrep as lr
from linrep.algorithms import imc
from linrep.algorithms.registry import ALGORITHMS
from tests.algorithms.support import own

pytestmark = pytest.mark.compiled

SHARED = lr.SharedRepresentation.random(n=8, d=5, k=2, noise=0.1, rng=0)
DATA = SHARED.draw(9, rng=1)
#: Of clients.
WEIGHTS = np.arange(1.0, 9.0)
#: Of which nobody knows the truth.
OWN = own(DATA)
LOW_RANK = lr.LowRankRegression.random(n=8, d=6, singular_values=[3, 2, 1, 0.5], noise=0.1, rng=0)
QUADRATIC = lr.QuadraticObjectives(np.random.default_rng(0).standard_normal((12, 5)))
SIDES = lr.SideInformationCompletion.random(n=10, d=8, p=4, k=2, side="unit", rng=0)
ENTRIES = SIDES.observe(5, rng=1)
#: With clients and items that are generous; of side information of these there are no biases.
GENEROUS = SIDES.without_side_information().observe(6, rng=1)

FRAME = lr.random_start(8, 5, 2, 3)

#: Settings that say what is measured beside the run, and not how it goes.
MEASURED = {"spectrum", "measure", "stationarity", "record"}

FEDREP = {
    "batches": ["fixed", "fresh", "split", "gram", "gram_split"],
    "step_size": [0.1, "theorem", "smoothness", "adaptive"],
    "participation": [1.0, 0.5],
    "local_steps": [None, 2],
}
GIVEN = {
    "batches": ["fixed"], "step_size": [0.1, "adaptive"], "participation": [1.0, 0.5],
    "local_steps": [None, 2], "start": ["random", "models"],
}  # fmt: skip
#: By case: an algorithm with its problem, what chooses an implementation, what all calls have, and
#: for every setting another value. Those that are refused whatever else is chosen are in REFUSED.
CASES = {
    "fedrep": (
        lr.fedrep, SHARED, FEDREP, {"m": 9, "start": "random", "rounds": 4, "rng": 0},
        {"m": 8, "k": 1, "rounds": 3, "start": "moments", "head_step_size": 0.05,
         "normalization": "published", "orthonormal": False, "tolerance": 2.0, "rng": 1,
         "weights": WEIGHTS},
    ),
    "fedrep on data": (
        lr.fedrep, OWN, GIVEN, {"k": 2, "rounds": 4, "rng": 0},
        {"k": 1, "rounds": 3, "start": FRAME, "head_step_size": 0.05, "m": 3,
         "normalization": "published", "orthonormal": False, "tolerance": 10.0,
         "weights": WEIGHTS},
    ),
    "fedavg": (
        lr.fedavg, SHARED,
        {"batches": FEDREP["batches"], "participation": [1.0, 0.5], "local_steps": [1, 2],
         "step_size": [None, 0.05]},
        {"m": 9, "start": "random", "rounds": 4, "rng": 0},
        {"m": 8, "k": 1, "rounds": 3, "start": "moments", "rng": 1},
    ),
    "flute": (
        lr.flute, LOW_RANK,
        {"batches": ["fixed", "fresh", "population"], "participation": [1.0, 0.5],
         "step_size": [None, 0.02], "loss": ["half", "full"], "aggregate": ["sum", "mean"]},
        {"m": 9, "k": 2, "rounds": 4, "rng": 0},
        {"m": 8, "k": 1, "rounds": 3, "start": lr.random_start(8, 6, 2, 3), "scale": 0.3,
         "regularizer_step_size": 0.03, "gamma1": 0.5,
         "gamma2": 0.5, "tolerance": 10.0, "rng": 1},
    ),
    "pflmf": (
        lr.pflmf, QUADRATIC,
        {"step_size": [None, 0.1], "participation": [1.0, 0.5], "local_steps": [1, 2],
         "sampling": ["bernoulli", "fixed"], "aggregate": ["participants", "full", "unbiased"],
         "order": ["simultaneous", "alternating"]},
        {"k": 2, "rounds": 4, "rng": 0},
        {"k": 1, "rounds": 3, "step_size": 0.05, "head_step_size": 0.05, "gradient_noise": 0.1,
         "batch": 2, "start": "spectral", "scale": 0.3, "tolerance": 10.0, "m": 3, "rng": 1},
    ),
    "pflmf on samples": (
        lr.pflmf, DATA,
        {"step_size": [None, 0.1], "participation": [1.0, 0.5], "batch": [None, 3]},
        {"k": 2, "rounds": 4, "rng": 0},
        {"k": 1, "rounds": 3, "step_size": 0.05, "local_steps": 2, "head_step_size": 0.05,
         "sampling": "fixed", "aggregate": "full", "order": "alternating", "gradient_noise": 0.1,
         "start": "spectral", "scale": 0.3, "tolerance": 10.0, "rng": 1},
    ),
    **{
        method.__name__: (
            method, SHARED,
            {"batches": ["fixed", "fresh", "split"], "first_order": [False, True],
             "participation": [1.0, 0.5]},
            {"m": 8, "rounds": 4, "rng": 0},
            {"m": 6, "k": 1, "rounds": 3, "inner_step_size": 0.05, "step_size": 0.05, "rng": 1,
             "start": (FRAME[0], FRAME[1][0])},
        )
        for method in (lr.anil, lr.maml)
    },
    "altgdmin": (
        lr.altgdmin, OWN,
        {"start": ["truncated", "moments", "random"], "step_size": [None, 0.05]},
        {"k": 2, "rounds": 4, "rng": 0},
        {"k": 1, "rounds": 3, "multiplier": 0.3, "step_size": 0.04, "truncation": 0.5,
         "tolerance": 10.0},
    ),
    "altmin_gd": (
        lr.altmin_gd, OWN, {"disjoint": [False, True], "step_size": [None, 0.05]},
        {"k": 2, "rounds": 4, "rng": 0},
        {"k": 1, "rounds": 3, "multiplier": 0.3, "step_size": 0.04, "start": "random",
         "tolerance": 10.0},
    ),
    "alternating_least_squares": (
        lr.alternating_least_squares, DATA, {"start": ["moments", "random"]},
        {"k": 2, "rounds": 4, "rng": 0},
        {"k": 1, "rounds": 3, "ridge": 0.1, "tolerance": 10.0},
    ),
    "linear_factorization": (
        lr.linear_factorization, DATA, {}, {"k": 2, "rounds": 20, "rng": 0},
        {"k": 1, "rounds": 3, "tolerance": 1.0, "start": (FRAME[0], FRAME[1]), "rng": 1},
    ),
    "local_only": (
        lr.local_only, SHARED, {"batches": ["fixed", "gram"]}, {"m": 9, "rng": 0},
        {"m": 8, "rng": 1},
    ),
    "method_of_moments": (lr.method_of_moments, DATA, {}, {"k": 2}, {"k": 1, "weights": WEIGHTS}),
    "cross_moments": (lr.cross_moments, DATA, {}, {"k": 2}, {"k": 1, "weights": WEIGHTS}),
    "pooled": (lr.pooled, DATA, {}, {}, {}),
    "ridge": (lr.ridge, DATA, {"per_client": [False, True]}, {}, {"penalty": 0.5}),
    "perfedsi": (
        lr.perfedsi, ENTRIES, {"replacement": [True, False], "participants": [1, 3]},
        {"k": 2, "rounds": 20, "rng": 0},
        {"k": 1, "rounds": 3, "step_size": 0.05, "local_steps": 2,
         "start": (np.eye(8, 2), np.eye(4, 2)), "scale": 0.2, "privacy": 0.1, "rng": 1},
    ),
    **{
        solver.__name__: (
            solver, GENEROUS, {}, {"k": 2},
            {"k": 1, "iterations": 2, "tolerance": 0.5, "start": (np.eye(8, 2), np.eye(10, 2))},
        )
        for solver in (imc.gauss_newton, imc.alternating)
    },
    "balanced_gradient": (
        imc.balanced_gradient, GENEROUS, {}, {"k": 2, "iterations": 50},
        {"k": 1, "iterations": 2, "tolerance": 0.5,
         "step_size": 0.01, "balance": 0.1, "start": (np.eye(8, 2), np.eye(10, 2))},
    ),
    "nuclear_norm": (
        imc.nuclear_norm, GENEROUS, {}, {},
        {"levels": 3, "iterations": 2, "smallest": 1e-2,
         "tolerance": 0.5},
    ),
    "least_squares": (imc.least_squares, GENEROUS, {}, {}, {}),
}  # fmt: skip


#: By case, what it has no use for: samples per client of data that are there, and so on.
REFUSED = {
    "fedrep": {"k"},  # which is the truth's
    "fedavg": {"k"},
    "fedrep on data": {"m", "tolerance"},  # the samples are there, and no truth is known
    "altgdmin": {"tolerance"},
    "altmin_gd": {"tolerance"},
    "pflmf": {"m", "batch"},  # of losses that have no samples
}


def is_equivalent(setting, value, settings):
    """Tell where two settings are the same run by the algorithm's definition."""
    prescribed = isinstance(settings.get("step_size"), str)
    everyone = settings.get("participation") == 1.0
    if setting == "normalization":  # of sums in place of means; prescribed steps are divided alike
        return prescribed
    if setting in ("sampling", "aggregate") and everyone:  # in whatever way participants are drawn
        return True
    # As many take part in every round as are expected to.
    return setting == "aggregate" and settings.get("sampling") == "fixed" and "full" not in (
        value, settings.get("aggregate"),
    )  # fmt: skip


def outcome(function, problem, settings):
    """Return the metrics and the state of a run as bytes, or None where it is refused."""
    try:
        trace = function(problem, **settings)
    except (TypeError, ValueError):
        return None
    return [
        {name: np.asarray(value).tobytes() for name, value in part.items()}
        for part in (trace.metrics, trace.state)
    ]


@cache
def implementations(name):
    """Return the outcomes of a case, by the values that choose an implementation."""
    function, problem, choices, common, _ = CASES[name]
    return {
        values: outcome(function, problem, {**common, **dict(zip(choices, values, strict=True))})
        for values in product(*choices.values())
    }


def runs(name):
    """Yield the values, all settings and the outcome of every implementation that runs."""
    _, _, choices, common, _ = CASES[name]
    for values, base in implementations(name).items():
        if base is not None:
            yield values, {**common, **dict(zip(choices, values, strict=True))}, base


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_setting_changes_the_run_or_is_refused(name):
    function, problem, _, _, others = CASES[name]
    ignored, refused = [], set(others)
    for chosen, settings, base in runs(name):
        for setting, value in others.items():
            changed = outcome(function, problem, {**settings, setting: value})
            if changed is not None:
                refused.discard(setting)
            if changed == base and not is_equivalent(setting, value, settings):
                ignored.append(f"{setting} with {chosen}")
    assert ignored == []
    assert refused == REFUSED.get(name, set())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_choice_changes_the_run_or_is_refused(name):
    """Of two implementations that both run, one is not the other in disguise."""
    same = []
    for chosen, settings, base in runs(name):
        for place, (setting, values) in enumerate(CASES[name][2].items()):
            for value in values:
                other = (*chosen[:place], value, *chosen[place + 1 :])
                if value is chosen[place] or is_equivalent(setting, value, settings):
                    continue
                if implementations(name)[other] == base:
                    same.append(f"{setting}={value!r} with {settings}")
    assert same == []


def parameters(function):
    """Return the names of an algorithm's settings."""
    return {*list(signature(function).parameters)[1:]}


def test_every_setting_of_every_algorithm_is_tried():
    untried = {}
    for name, function in ALGORITHMS.items():
        known = parameters(function) - MEASURED
        tried = set()
        for each, _, choices, common, others in CASES.values():
            if each is function or (name == "fedsgd" and each is lr.fedavg):
                tried |= {*choices, *others} | (common.keys() & {"rng"})
        if known - tried:
            untried[name] = sorted(known - tried)
    assert untried == {}


HALF = np.array([0, 3])
STEPPED = {"step_size": 0.2, "head_steps": (2, 0.1), "participants": HALF}
SAMPLES = OWN.X, OWN.y, OWN.offsets, *FRAME
#: Compiled rounds by name: what they are called with, and other values of their settings.
ROUNDS = {
    "fedrep_round": (SAMPLES, STEPPED),
    "pflmf_round": (SAMPLES, STEPPED),
    "pflmf_quadratic_round": (
        (OWN.X[:8], *FRAME),
        {**STEPPED, "H": np.tile(2.0 * np.eye(5), (8, 1, 1))},
    ),
    "theta_step": (
        (FRAME[0], np.linspace(1.0, 0.2, 5)),
        {"step_size": 0.2, "R": 0.1 * FRAME[0]},
    ),
}


def test_a_setting_of_a_compiled_round_changes_it():
    ignored, untried = [], []
    for name, (arrays, others) in ROUNDS.items():
        call, given = getattr(lr.kernels, name), {"step_size": 0.1}
        settings = [*signature(call).parameters][len(arrays) :]
        untried += [f"{name}: {each}" for each in {*settings} - {*others, "out", "work"}]
        before = [np.copy(part) for part in call(*arrays, **given)]
        for setting, value in others.items():
            after = call(*arrays, **{**given, setting: value})
            if all(map(np.array_equal, before, after)):
                ignored.append(f"{name}: {setting}")
    assert ignored == []
    assert untried == []
