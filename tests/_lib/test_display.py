"""Objects show themselves in a line or a small table, however large the arrays they hold."""

import re
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import linrep as lr
from linrep._lib import display as show
from linrep.claims import VERDICTS
from linrep.theory import flute, flute_lift, perfedsi, pflmf, pflmf_rounds
from tests.tools import well_formed

LINE = 250  # letters


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.333333"),
        (np.float64(2.0), "2"),
        (3, "3"),
        (None, "None"),
        ("a", "'a'"),
        (np.array([1.0, 0.5]), "[1, 0.5]"),
        (np.zeros((3, 4)), "ndarray of shape (3, 4)"),
        (np.zeros(5), "ndarray of shape (5,)"),
        (pd.DataFrame({"a": [1]}), "DataFrame of shape (1, 1)"),
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


def test_a_table_is_well_formed_and_escaped():
    text = well_formed(show.table([("<a>", 1), ("b", "&")], ("name", "value")))
    assert text == ["name", "value", "<a>", "1", "b", "&"]


def test_a_sheet_leaves_out_what_is_empty():
    shown = well_formed(show.sheet("<T>", {"a": 1, "b": "", "c": None, "d": "text", "e": 0.0}))
    assert shown == ["<T>", "a", "1", "d", "text", "e", "0"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array([3, 3]), "3"),
        (np.array([10, 1, 7]), "1 to 10 (median 7)"),
        (np.array([1 / 3, 20000.0, 1.0]), "0.3333 to 2e+04 (median 1)"),
        (np.array([123456, 123457]), "123456 to 123457 (median 123457)"),
    ],
)
def test_the_spread_of_values(values, text):
    assert show.spread(values) == text


def test_the_leading_of_many_values():
    assert show.show_first(np.arange(3)) == "0, 1, 2"
    assert show.show_first(np.arange(9)) == "0, 1, 2, 3 and 5 more"


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
    """Yield an object of every class that holds arrays, as large as the class allows here."""
    shared = lr.SharedRepresentation.random(n=300, d=40, k=3, rng=0)
    low = lr.LowRankRegression.random(n=300, d=40, singular_values=[3, 2, 1], rng=0)
    matrix = lr.SideInformationCompletion.random(n=300, d=40, p=6, k=2, rng=0)
    data = shared.draw(20, rng=0)
    quadratic = lr.QuadraticObjectives(np.ones((300, 40)))
    U, V = np.ones((40, 2)), np.ones((300, 2))
    yield from (shared, low, matrix, data, quadratic)
    yield lr.SharedRepresentation.random(n=300, d=10**9, k=3, store=False, rng=0)
    yield lr.ClientData.from_list([data.client(i) for i in range(300)])
    yield lr.CustomObjectives(lambda i, theta: (0.0, theta), n=300, d=40)
    yield lr.LeastSquaresObjectives(data)
    yield lr.LogisticObjectives(lr.ClientData(data.X, np.sign(data.y), data.offsets))
    yield lr.BiasedRegression(np.ones(40), np.ones(300), np.ones((300, 40)))
    yield matrix.observe(per_client=5, rng=0)
    yield low.best(2)
    yield quadratic.best(2)
    yield quadratic.factor_gradients(U, V)
    yield lr.problems.personal.planar(300, rng=0)
    spectrum = flute.Spectrum.of(low, 2)
    Theta = np.full((200, 600, 2), 0.1)
    yield spectrum
    yield flute.sizes(Theta)
    yield flute.region(Theta, spectrum)
    yield flute.claim_A3(Theta, spectrum, 0.01)
    yield flute_lift.local_factors(spectrum, 0.01)
    yield perfedsi.Regularity(*[np.ones((50, 300))] * 4)
    yield pflmf.theorem1(1.0, smoothness=1.0, step_size=np.full(300, 0.1), rounds=10)
    setting = pflmf.Setting(0.5, 30, 0.1, 1.0, 1.0)
    yield pflmf_rounds.expected_round(setting, quadratic, U, V)
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
    abstract = {"Objectives", "SampleObjectives"}
    shown_elsewhere = {"SoftmaxObjectives"}
    assert exported - abstract - shown_elsewhere <= seen


def sheets():
    """Yield data and problems with texts that a notebook has to show of them."""
    truth = lr.SharedRepresentation.random(n=6, d=5, k=2, noise=0.5, rng=0)
    ragged = lr.ClientData.from_list([(np.ones((m, 3)), np.arange(float(m))) for m in (1, 4, 9)])
    matrix = lr.SideInformationCompletion.random(n=20, d=5, p=6, k=2, rng=0)
    low = lr.LowRankRegression.random(n=6, d=5, singular_values=[3, 2, 1], rng=0)
    yield truth, {"clients n", "6", "noise σ", "0.5", f"{truth.condition:.6g}", "gaussian"}
    yield lr.SharedRepresentation.random(n=9, d=10**9, k=3, store=False, rng=0), {"1000000000"}
    yield truth.draw(4, rng=0), {"samples", "24", "samples per client", "4", repr(truth)}
    yield ragged, {"1 to 9 (median 4)", "14", "mean 3, standard deviation 2.56", "not known"}
    yield low, {"singular values of Φ"}
    yield matrix, {"columns of Z", "6", "singular values of U* V*ᵀ"}
    yield (
        matrix.observe(per_client=2, rng=0),
        {"40 of 100 (40.00%)", "per client", "2", "6 columns"},
    )
    yield lr.BiasedRegression(np.ones(4), np.ones(3), np.ones((3, 2))), {"dimension d", "4", "2"}
    yield lr.QuadraticObjectives(np.ones((30, 4))), {"clients n", "30", "not known"}
    yield lr.problems.personal.clustered(n=6, d=4, clusters=3, m=2, rng=0), {"clusters", "3"}
    yield lr.LeastSquaresObjectives(ragged, ridge=0.25), {"1 to 9 (median 4)", "ridge ρ", "0.25"}


def test_data_and_problems_are_small_tables_in_a_notebook():
    for item, texts in sheets():
        html = item._repr_html_()
        shown = set(well_formed(html))
        assert texts <= shown, texts - shown
        assert html.count("<tr>") < 12


def test_networks_data_show_their_sizes():
    dataset = lr.deep.Dataset(np.zeros((60, 8)), np.arange(60) % 3, name="<b>")
    data = lr.deep.partitions.shards(dataset, n=6, classes_per_client=1, rng=0)
    assert len(repr(dataset)) < 400
    assert repr(data).startswith("FederatedData('<b>', 6 clients, training samples per client: ")
    assert "3 classes" in repr(data)


def test_federations_and_states_show_their_sizes():
    pytest.importorskip("torch")
    dataset = lr.deep.Dataset(np.zeros((60, 8)), np.arange(60) % 3)
    data = lr.deep.partitions.shards(dataset, n=6, classes_per_client=1, rng=0)
    federation = lr.deep.Federation(data, lambda: lr.deep.models.build("linear", (8,), 3, k=2))
    assert repr(federation).startswith("Federation(6 clients, a ")
    assert len(repr(federation.start())) < 400


def test_shapes_of_anything_that_has_them_are_told():
    assert show.brief(SimpleNamespace(shape=(2, 3))) == "SimpleNamespace of shape (2, 3)"


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
