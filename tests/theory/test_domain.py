"""Every formula answers within its domain and refuses what is outside, by the argument's name.

Formulas are continuous: 2.5 clients are an argument like any other.
"""

import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.compiled

POSITIVE = (-0.5, -np.inf, np.nan)
WITH_ZERO = (0, *POSITIVE)
#: What no argument of this name may be, whatever the formula.
OUTSIDE = {
    "n": WITH_ZERO, "d": WITH_ZERO, "k": WITH_ZERO, "p": WITH_ZERO, "m": WITH_ZERO,
    "clients": WITH_ZERO, "participants": WITH_ZERO, "rounds": POSITIVE, "T": POSITIVE,
    "participation": (1.5, *POSITIVE), "share": (1.5, *POSITIVE), "local_steps": WITH_ZERO,
    "step_size": POSITIVE, "head_step_size": POSITIVE, "inner_step_size": POSITIVE,
    "step_size_times_L": POSITIVE, "smoothness": WITH_ZERO, "gap": POSITIVE, "noise": POSITIVE,
    "sigma_min": POSITIVE, "sigma_max": POSITIVE, "condition": (0.5, *WITH_ZERO),
    "distance": (1.5, *POSITIVE), "initial_distance": (1.5, *POSITIVE), "delta": POSITIVE,
    "failure": POSITIVE, "eps": POSITIVE, "alpha": POSITIVE, "radius_U": POSITIVE,
    "radius_V": POSITIVE, "particles": WITH_ZERO, "scale": POSITIVE, "size": POSITIVE,
    "outside": POSITIVE, "heads_norm": POSITIVE, "c": POSITIVE, "mu": POSITIVE,
}  # fmt: skip
#: What an argument may be nevertheless: levels alone need no covariates.
APART = {("theory.perfedsi.bias_risk", "d"): (0,)}


@pytest.fixture(scope="module")
def calls():
    from tests import wrong_calls

    return [call for call in wrong_calls.calls() if call.name.startswith("theory.")]


def test_what_is_outside_the_domain_is_refused_by_name(calls):
    answered, asked = [], 0
    for call in calls:
        for key in call.parameters.keys() & OUTSIDE.keys():
            for value in OUTSIDE[key]:
                if value in APART.get((call.name, key), ()):
                    continue
                asked += 1
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        found = call(**{key: value})
                    except (TypeError, ValueError) as error:
                        if key not in str(error):
                            answered.append((call.name, key, value, str(error)))
                    else:
                        answered.append((call.name, key, value, found))
    assert asked > 1000
    assert not answered
