"""Pictures are functions of rows."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.stats import gmean, ttest_1samp

from linrep import plotting


def rows(trials=5):
    rng = np.random.default_rng(0)
    table = [
        {"trial": trial, "round": t, "method": method, "value": 10.0 ** (rng.normal() - t)}
        for trial in range(trials)
        for t in range(4)
        for method in ("A", "B")
    ]
    return pd.DataFrame(table)


def test_mean_interval_is_students():
    values = np.random.default_rng(1).normal(size=(10, 6))
    mean, low, high = plotting.mean_interval(values, confidence=0.9)
    expected = ttest_1samp(values, 0.0).confidence_interval(0.9)
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(low, expected.low)
    np.testing.assert_allclose(high, expected.high)


def test_geometric_mean_interval_is_that_of_the_logarithms():
    values = np.random.default_rng(1).lognormal(sigma=3.0, size=(10, 6))
    for part, log_part in zip(
        plotting.mean_interval(values, geometric=True),
        plotting.mean_interval(np.log(values)),
        strict=True,
    ):
        np.testing.assert_allclose(part, np.exp(log_part))
    np.testing.assert_allclose(plotting.mean_interval(values, geometric=True)[0], gmean(values))


def test_one_trial_has_no_interval():
    mean, low, high = plotting.mean_interval(np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(mean, [1.0, 2.0])
    assert np.isnan([low, high]).all()


def test_curves_draws_the_mean_of_each_group():
    table = rows()
    ax = Figure().subplots()
    plotting.curves(ax, table, x="round", y="value", by="method", order=("A", "B"))
    for line, name in zip(ax.get_lines(), ("A", "B"), strict=True):
        expected = table[table["method"] == name].groupby("round")["value"].mean()
        np.testing.assert_allclose(line.get_ydata(), expected)
        assert line.get_label() == name


def test_curves_leaves_out_trials_that_miss_points_and_keeps_colours():
    table = rows()
    table = table[~((table["trial"] == 0) & (table["round"] > 1))]
    ax = Figure().subplots()
    plotting.curves(ax, table, x="round", y="value", by="method", order=("missing", "B"))
    (line,) = ax.get_lines()
    expected = table[(table["method"] == "B") & (table["trial"] > 0)]
    np.testing.assert_allclose(line.get_ydata(), expected.groupby("round")["value"].mean())
    assert line.get_color() == "C1"


@pytest.mark.parametrize("width", [plotting.COLUMN_WIDTH, plotting.PAGE_WIDTH])
def test_captions_fit_the_width_and_do_not_shrink_the_axes(width, tmp_path):
    with plotting.style():
        figure = Figure(figsize=(width, 2.0))
        ax = figure.subplots()
        plotting.caption(figure, "A caption of m words, √k·QR, 10⁻³, W and M. " * 8)
        figure.savefig(tmp_path / "x.png")
        renderer = FigureCanvasAgg(figure).get_renderer()
        (text,) = figure.texts
        box = text.get_window_extent(renderer)
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= ax.get_tightbbox(renderer).y0 + 1
    assert figure.get_figheight() > 2.0
