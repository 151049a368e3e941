"""What statistics refuse, each in one line that names the argument."""

import numpy as np
import pytest

from linrep.stats import (
    collapse,
    contraction_rate,
    half_samples,
    mean_interval,
    proportion_interval,
    rerun_interval,
    scaling_exponents,
    shares_differ,
    transition_point,
)
from tests.tools import complaint

D, K = np.array([1.0, 2.0, 4.0, 8.0, 3.0]), np.array([1.0, 3.0, 2.0, 5.0, 1.0])
FALL, TWO = [1.0, 0.5, 0.25], [1.0, 2.0]

#: A function, its arguments and options, and words of the exception: a TypeError with "real".
CALLS = [
    (contraction_rate, ([],), {}, "values; empty"),
    (contraction_rate, ([1.0, 0.5, 0.0, 0.25],), {}, "values; positive; floor"),
    (contraction_rate, ([1.0, -0.5, 0.25],), {}, "values; positive; floor"),
    (contraction_rate, (FALL,), {"floor": -1.0}, "floor; at least 0"),
    (contraction_rate, ([1.0, np.nan, 0.25],), {}, "values; finite"),
    (contraction_rate, ([1.0, np.inf, 0.25],), {}, "values; finite"),
    (contraction_rate, ([FALL],), {}, "values; (any); (1, 3)"),
    (contraction_rate, (None,), {}, "values; shape"),
    (contraction_rate, (["a", "b", "c"],), {}, "values; real numbers"),
    (contraction_rate, (FALL,), {"confidence": 0.0}, "confidence; greater than 0"),
    (contraction_rate, (FALL,), {"confidence": 1.0}, "confidence; below 1; 1.0"),
    (contraction_rate, (FALL,), {"confidence": "95%"}, "confidence; real number"),
    (mean_interval, ([TWO],), {"axis": 2}, "axis; between -2 and 1; 2"),
    (mean_interval, (1.0,), {}, "values; one row per trial"),
    (mean_interval, ([[1.0, np.nan]],), {}, "values; finite"),
    (mean_interval, ([[1.0, 0.0]],), {"geometric": True}, "values; positive; 0"),
    (mean_interval, ([TWO],), {"confidence": 1.0}, "confidence; below 1"),
    (proportion_interval, (1, 0), {}, "trials; at least 1; 0"),
    (proportion_interval, (-1, 2), {}, "successes; between 0"),
    (proportion_interval, (3, 2), {}, "successes; between 0; trials"),
    (proportion_interval, (0.5, 2), {}, "successes; whole numbers"),
    (proportion_interval, (1, [2, 2.5]), {}, "trials; whole numbers"),
    (proportion_interval, ([1, 2], [3, 4, 5]), {}, "successes and trials; (2,); (3,)"),
    (proportion_interval, ([], []), {}, "successes; empty"),
    (proportion_interval, (np.nan, 2), {}, "successes; finite"),
    (proportion_interval, ("many", 2), {}, "successes; real numbers"),
    (proportion_interval, (1, 2), {"confidence": 0.0}, "confidence; greater than 0"),
    (half_samples, (1,), {}, "replicates"),
    (rerun_interval, (1.0, [1.0], [1.0, 1.0]), {"level": 0.0}, "level"),
    (shares_differ, ((41, 40), (0, 40)), {}, "successes"),
    (scaling_exponents, (K, {"d": D, "m": D}), {}, "exponents of d and m; not identified"),
    (
        scaling_exponents,
        (K, {"d": D, "k": K, "m": D**2 / 3}),
        {},
        "exponents of d and m; not identified",
    ),
    (
        scaling_exponents,
        (D, {"a": D, "b": K, "c": D * K}),
        {},
        "exponents of a, b and c; not identified",
    ),
    (scaling_exponents, (K, {"d": D, "n": np.full(5, 7.0)}), {}, "n must vary; constant"),
    (scaling_exponents, (K[:3], {"d": D[:3], "k": K[:3]}), {}, "y; 4 points; d and k; got 3"),
    (scaling_exponents, (TWO, TWO), {}, "y; 3 points; got 2"),
    (scaling_exponents, (D, {"d": D, "k": -K}), {}, "x['k']; positive; -5"),
    (scaling_exponents, (D, {"d": D, "k": K[:4]}), {}, "x['k']; (5); (4,)"),
    (scaling_exponents, (D, -D), {}, "x must be positive; -8"),
    (scaling_exponents, (0.0 * D, D), {}, "y must be positive; 0"),
    (scaling_exponents, (D, {}), {}, "x; at least one; none"),
    (scaling_exponents, (D, {"d": ["much"] * 5}), {}, "x['d']; real numbers"),
    (scaling_exponents, (D, K), {"confidence": 2}, "confidence; below 1"),
    (scaling_exponents, (D, [1, 1, 1, 1, 2]), {"robust": True}, "robust; index 4"),
    (collapse, (D, D[:4]), {}, "predicted; (5); (4,)"),
    (collapse, (D, -D), {}, "predicted; positive"),
    (collapse, (-D, D), {}, "y; positive"),
    (collapse, (D, np.ones(5)), {}, "predicted must vary"),
    (collapse, (D[:2], D[:2]), {}, "y; 3 points; got 2"),
    (collapse, (D, D, ["a", "b"]), {}, "groups; (5,); (2,)"),
    (collapse, (D, D, [1.0, 2.0, np.nan, 1.0, 2.0]), {}, "groups; missing"),
    (transition_point, (TWO, [0, 1], 0), {}, "trials; at least 1"),
    (transition_point, (TWO, [0, 3], 2), {}, "successes; between 0"),
    (transition_point, (TWO, [0, 0.5], 2), {}, "successes; whole"),
    (transition_point, ([0.0, 2.0], [0, 1], 2), {}, "x; positive; 0"),
    (transition_point, ([2.0, 2.0], [0, 1], 2), {}, "x; two different; 2"),
    (transition_point, (TWO, [0, 1, 1], 2), {}, "successes; (2,); (3,)"),
    (transition_point, (TWO, 1, 2), {}, "successes; (2,); ()"),
    (transition_point, (TWO, [0, 1], 2), {"level": 1.0}, "level; below 1"),
    (transition_point, (TWO, [0, 1], 2), {"confidence": 0.0}, "confidence; greater than 0"),
]


@pytest.mark.parametrize(("function", "arguments", "options", "words"), CALLS)
def test_what_is_wrong_is_named(function, arguments, options, words):
    kind = TypeError if "real" in words else ValueError
    with complaint(kind, *words.split("; ")):
        function(*arguments, **options)
