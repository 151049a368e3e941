"""Objects show themselves in a line, however large the arrays they hold."""

import re
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import linrep as lr
from linrep._lib import display as show
from linrep.claims import VERDICTS
from linrep.theory import flute, pflmf
from tests.tools import well_formed

LINE = 250  # letters


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.333333"),
        (np.float64(2.0), "2"),
        (None, "None"),
        (np.array([1.0, 0.5]), "[1, 0.5]"),
        (np.zeros((3, 4)), "ndarray of shape (3, 4)"),
        (np.zeros(5), "ndarray of shape (5,)"),
        (pd.DataFrame({"a": [1]}), "DataFrame of shape (1, 1)"),
        (SimpleNamespace(shape=(2, 3)), "SimpleNamespace of shape (2, 3)"),
        ((1, 0.25), "(1, 0.25)"),
        ([np.zeros(9)] * 5, "list of 5"),
        ({"a": np.zeros(9)}, "{a=ndarray of shape (9,)}"),
        (dict.fromkeys(range(5)), "dict of 5"),
        (np.linalg.norm, "norm"),
        ("x" * 100, "'" + "x" * 58 + "…"),
    ],
)
def test_a_value_in_a_few_words(value, text):
    assert show.brief(value) == text


def test_a_line_names_the_fields():
    @dataclass
    class Pair:
        left: np.ndarray
        right: float

    assert show.line(Pair(np.zeros(7), 0.5)) == "Pair(left=ndarray of shape (7,), right=0.5)"


@pytest.mark.parametrize("verdict", [*VERDICTS, "unchecked"])
def test_a_badge_has_a_word_and_can_be_read(verdict):
    html = show.badge(verdict)
    assert well_formed(html)[0].endswith(verdict)
    ground, letters = (
        [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        for color in re.findall(r"color:(#[0-9a-f]{6})", html)
    )

    def luminance(color):
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert (luminance(letters) + 0.05) / (luminance(ground) + 0.05) > 4.5  # WCAG, AA


def test_markdown_means_nothing_in_a_literal_text():
    assert show.literal("a_1 * |b| <c>") == r"a\_1 \* \|b\| \<c\>"


def large():
    """Yield an object of every class of problems, large, and some that theory returns."""
    shared = lr.SharedRepresentation.random(n=300, d=40, k=3, rng=0)
    low = lr.LowRankRegression.random(n=300, d=40, singular_values=[3, 2, 1], rng=0)
    matrix = lr.SideInformationCompletion.random(n=300, d=40, p=6, k=2, rng=0)
    data = shared.draw(20, rng=0)
    quadratic = lr.QuadraticObjectives(np.ones((300, 40)))
    yield from (shared, low, matrix, data, quadratic)
    yield lr.SharedRepresentation.random(n=300, d=10**9, k=3, store=False, rng=0)
    yield lr.CustomObjectives(lambda i, theta: (0.0, theta), n=300, d=40)
    yield lr.LeastSquaresObjectives(data)
    yield lr.LogisticObjectives(lr.ClientData(data.X, np.sign(data.y), data.offsets))
    yield lr.BiasedRegression(np.ones(40), np.ones(300), np.ones((300, 40)))
    yield matrix.observe(per_client=5, rng=0)
    yield low.best(2)
    yield quadratic.best(2)
    yield quadratic.factor_gradients(np.ones((40, 2)), np.ones((300, 2)))
    yield flute.Spectrum.of(low, 2)
    yield flute.sizes(np.full((200, 600, 2), 0.1))
    yield pflmf.theorem1(1.0, smoothness=1.0, step_size=np.full(300, 0.1), rounds=10)
    yield lr.sweeps.Grid.product({"a": range(300), "b": range(10)})


def test_every_class_shows_itself_in_a_line():
    seen = set()
    for item in large():
        text = repr(item)
        assert text.startswith(type(item).__name__)
        assert "\n" not in text
        assert len(text) < LINE, text
        seen.add(type(item).__name__)
    exported = {
        name for name in lr.problems.__all__ if isinstance(getattr(lr.problems, name), type)
    }
    assert exported - {"Objectives", "SampleObjectives", "SoftmaxObjectives"} <= seen


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (1.47478, ("1.474", "1.475", "1.475")),
        (-1.47478, ("-1.475", "-1.475", "-1.474")),
        (0.1, ("0.1", "0.1", "0.1")),
        (3 - 2 * 1e-15, ("3", "3", "3")),
        (np.float64(9999.6), ("9999", "1e+04", "1e+04")),
        (2.00001e-9, ("2e-09", "2e-09", "2.001e-09")),
        (np.inf, ("–", "–", "–")),
    ],
)
def test_a_bound_is_rounded_outwards(value, texts):
    assert tuple(show.number(value, toward) for toward in (-1, 0, 1)) == texts
