"""Pictures are functions of rows."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from linrep.figures import plotting
from linrep.stats import mean_interval, scaling_exponents


def rows(replicates=5):
    rng = np.random.default_rng(0)
    table = [
        {"replicate": replicate, "round": t, "method": method, "value": 10.0 ** (rng.normal() - t)}
        for replicate in range(replicates)
        for t in range(4)
        for method in ("A", "B")
    ]
    return pd.DataFrame(table)


def axes():
    return Figure().subplots()


def band(ax, place=0):
    """Return low and high of the band drawn at that place, by increasing x."""
    corners = pd.DataFrame(ax.collections[place].get_paths()[0].vertices, columns=["x", "y"])
    ends = corners.groupby("x")["y"]
    return ends.min(), ends.max()


def test_curves_leaves_out_trials_that_miss_points_and_keeps_colours():
    table = rows()
    table = table[~((table["replicate"] == 0) & (table["round"] > 1))]
    ax, options = axes(), {"x": "round", "y": "value", "by": "method"}
    assert plotting.curves(ax, table, order=("missing", "B"), **options) == 1
    (line,) = ax.get_lines()
    expected = table[(table["method"] == "B") & (table["replicate"] > 0)]
    np.testing.assert_allclose(line.get_ydata(), expected.groupby("round")["value"].mean())
    assert line.get_color() == mpl.colors.to_hex("C1")
    assert plotting.curves(ax, rows(), **options) == 0


@pytest.mark.parametrize("median", [False, True])
def test_points_of_curves_may_have_replicates_of_their_own(median):
    table = rows()
    kept = table[(table["replicate"] + table["round"]) % 3 > 0]  # none has all rounds
    ax, quantiles = axes(), (0.1, 0.9) if median else None
    options = {"x": "round", "y": "value", "quantiles": quantiles, "whole": False}
    assert plotting.curves(ax, kept[kept["method"] == "A"], **options) == 0
    groups = kept[kept["method"] == "A"].groupby("round")["value"]
    (line,) = ax.get_lines()
    assert line.get_label().startswith("_")  # one group has no label
    np.testing.assert_allclose(line.get_ydata(), groups.median() if median else groups.mean())
    low, high = band(ax)
    for t, values in groups:
        ends = np.quantile(values, (0.1, 0.9)) if median else mean_interval(values)[1:]
        np.testing.assert_allclose((low[t], high[t]), np.ravel(ends))


@pytest.mark.parametrize("geometric", [False, True])
def test_the_band_of_curves_is_the_interval(geometric):
    table, ax = rows()[::-1], axes()
    plotting.curves(ax, table, x="round", y="value", by="method", geometric=geometric)
    assert ax.get_legend_handles_labels()[1] == ["B", "A"]
    for place, name in enumerate(("B", "A")):
        values = table[table["method"] == name].pivot(index="replicate", columns="round")["value"]
        mean, low, high = mean_interval(values, geometric=geometric)
        np.testing.assert_allclose(ax.get_lines()[place].get_ydata(), mean)
        np.testing.assert_allclose(band(ax, place), (low, high))


# Maps.


def grid(xs, ys, value, replicates=3):
    return pd.DataFrame(
        [
            {"m": x, "d": y, "replicate": replicate, "value": value(x, y, replicate)}
            for x in xs
            for y in ys
            for replicate in range(replicates)
        ]
    ).sample(frac=1.0, random_state=0)


def drawn(table, **options):
    ax = axes()
    mesh = plotting.heat_map(ax, table, **{"x": "m", "y": "d", "value": "value", **options})
    ax.figure.canvas.draw()
    return ax, mesh


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_cells_are_alike_and_hold_the_means_of_their_rows():
    ax, mesh = drawn(grid((5, 10, 20), (0.25, 1.0, 2.0, 4.0), lambda x, y, r: x * y + r))
    expected = np.outer([0.25, 1.0, 2.0, 4.0], [5, 10, 20]) + 1.0
    np.testing.assert_allclose(mesh.get_array().reshape(4, 3), expected)
    assert mesh.get_clim() == (2.25, 81.0)
    assert mesh.colorbar.ax.get_ylabel() == "value"
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert len(written) == 12
    assert written[(2.5, 2.5)] == "41"
    assert ax.axis() == (0.0, 3.0, 0.0, 4.0)
    assert (labels(ax.xaxis), labels(ax.yaxis)) == (["5", "10", "20"], ["0.25", "1", "2", "4"])
    assert not ax.get_xlabel() + ax.get_ylabel()


def test_names_are_in_the_order_of_their_categories():
    table = grid((5, 10), (1, 2), lambda x, y, r: x * y)
    table["d"] = pd.Categorical(table["d"].map({1: "one", 2: "another"}), ["one", "another"])
    ax, mesh = drawn(table)
    assert labels(ax.yaxis) == ["one", "another"]
    np.testing.assert_array_equal(mesh.get_array().reshape(2, 2), [[5, 10], [10, 20]])


def test_missing_cells_are_blank():
    """Without rows, or with a NaN among them; the others are as they were."""
    table = grid((1, 2, 3), (1, 2, 3), lambda x, y, r: np.nan if (x, y, r) == (3, 1, 0) else x)
    ax, mesh = drawn(table[(table["m"] != 1) | (table["d"] != 2)])
    blank = np.ma.getmaskarray(mesh.get_array()).reshape(3, 3)
    np.testing.assert_array_equal(np.argwhere(blank), [[0, 2], [1, 0]])
    assert len(ax.texts) == 7
    assert ax.patch.get_hatch()
    assert drawn(table.dropna())[0].patch.get_hatch() is None


@pytest.mark.parametrize("kind", [int, bool, float])
def test_shares_of_successes_are_coloured_from_zero_to_one(kind):
    _, mesh = drawn(grid((1, 2, 3), (1, 2, 3), lambda x, y, r: kind(r < 1)), label="successes")
    np.testing.assert_allclose(mesh.get_array(), 1.0 / 3.0)
    assert mesh.get_clim() == (0.0, 1.0)
    assert mesh.colorbar.ax.get_ylabel() == "successes"


def test_numbers_are_read_on_their_cells_and_left_out_of_large_maps():
    ax, _ = drawn(grid(range(1, 9), (1, 2), lambda x, y, r: x))
    colours = {float(text.get_text()): text.get_color() for text in ax.texts}
    assert (colours[1.0], colours[8.0]) == ("w", ".15")
    ax, _ = drawn(grid(range(1, 12), range(1, 12), lambda x, y, r: x, replicates=1))
    assert not ax.texts


def test_boundaries_are_labelled_lines_that_leave_the_limits():
    table = grid((5, 10, 20), (1, 2, 3), lambda x, y, r: 0)
    ax, _ = drawn(table, boundary=lambda m: m / 10.0, boundary_label="m/10")
    (line,) = ax.get_lines()
    x, y = line.get_data()
    # From edge to edge, evenly; between 5 and 20 as on a logarithmic axis, and from 1 to 3 linear.
    np.testing.assert_allclose(x, np.linspace(0.0, 3.0, 200), atol=1e-12)
    np.testing.assert_allclose(y, 5.0 * 2.0 ** (x - 0.5) / 10.0 - 0.5)
    assert ax.get_legend_handles_labels() == ([line], ["m/10"])
    assert ax.axis() == (0.0, 3.0, 0.0, 3.0)

    pairs = [(5.0, 1.0), (40.0, 30.0), (10.0, 2.0)]
    ax, _ = drawn(table, boundary={"two": lambda m: 2.0, "pairs": pairs})
    two, pairs = ax.get_lines()
    np.testing.assert_allclose(two.get_ydata(), 1.5)
    np.testing.assert_allclose(pairs.get_xydata(), [(0.5, 0.5), (3.5, 29.5), (1.5, 1.5)])
    assert (two.get_label(), pairs.get_label()) == ("two", "pairs")
    assert two.get_linestyle() != pairs.get_linestyle()
    assert ax.axis() == (0.0, 3.0, 0.0, 3.0)


@pytest.mark.parametrize("values", [[10, 20, 50, 100], [0, 10, 100, 1000], [1, 100], [7]])
def test_positions_of_a_boundary_go_through_the_centres_of_cells(values):
    table = grid(values, (1, 2, 3), lambda x, y, r: y)
    ax, _ = drawn(table, boundary=[(value, 2.0) for value in values])
    centres = np.arange(len(values)) + 0.5
    np.testing.assert_allclose(ax.get_lines()[0].get_xdata(), centres)


def test_a_map_without_details_has_no_bar_and_no_numbers():
    table = grid((1, 2), (1, 2), lambda x, y, r: x)
    (ax, mesh), (whole, other) = drawn(table, details=False), drawn(table)
    assert (ax.figure.axes, len(whole.figure.axes), len(ax.texts)) == ([ax], 2, 0)
    np.testing.assert_array_equal(mesh.get_array(), other.get_array())


# Panels.


def test_a_grid_has_a_panel_for_each_pair_and_is_as_wide_as_a_page():
    table = pd.concat([rows().assign(m=m, kind=kind) for m in (5, 2) for kind in ("x", "y")])
    figure = plotting.grid_of_curves(
        table, row="kind", col="m", labels=("epoch", "error"), height=1.5, log="y",
        x="round", y="value", by="method",
    )  # fmt: skip
    assert [ax.get_title() for ax in figure.axes] == ["m = 5", "m = 2", "", ""]
    assert [ax.get_ylabel() for ax in figure.axes] == ["x\nerror", "", "y\nerror", ""]
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "epoch", "epoch"]
    assert {ax.get_yscale() for ax in figure.axes} == {"log"}
    pairs = [(kind, m) for kind in ("x", "y") for m in (5, 2)]
    for ax, (kind, m) in zip(figure.axes, pairs, strict=True):
        part = table[(table["kind"] == kind) & (table["m"] == m) & (table["method"] == "A")]
        expected = part.groupby("round")["value"].mean()
        np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), expected)
    assert figure.get_figwidth() == plotting.PAGE_WIDTH
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["A", "B"]
    plt.close(figure)


# Power laws.

D = np.array([10.0, 20.0, 40.0, 80.0])


def bars(ax):
    """Return the ends of the vertical bars."""
    return np.array([path[:, 1] for path in ax.collections[0].get_segments()])


def marked(ax, marker):
    """Return the y of what is drawn with a marker."""
    return [y for line in ax.get_lines() if line.get_marker() == marker for y in line.get_ydata()]


def test_dots_has_a_line_for_each_method_with_interval_and_published_number():
    table = pd.DataFrame(
        {
            "method": ["A", "B", "C"],
            "accuracy": [70.0, 80.0, 60.0],
            "low": [69.0, np.nan, 58.0],
            "high": [72.0, np.nan, 61.0],
            "paper": [71.0, np.nan, np.nan],
        }
    )
    ax = axes()
    plotting.dots(ax, table, order=("C", "missing", "A", "B"), limits=(0.0, 71.5))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["C", "missing", "A", "B"]
    bars, measured, paper = ax.collections
    ends = {segment[0, 1]: tuple(segment[:, 0]) for segment in bars.get_segments() if len(segment)}
    assert (ends[0.0], ends[2.0]) == ((58.0, 61.0), (69.0, 71.5))
    np.testing.assert_array_equal(measured.get_offsets().filled(np.nan)[:, 0], [60, np.nan, 70, 80])
    np.testing.assert_array_equal(paper.get_offsets().filled(np.nan)[2], [71.0, 2.0])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_dots_without_published_numbers_and_in_the_colours_of_curves():
    table = pd.DataFrame({"method": ["A", "B"], "accuracy": [0.7, 0.8]})
    ax, other = Figure().subplots(1, 2)
    plotting.dots(ax, table, colored=True)
    _, measured = ax.collections  # no third one, for the paper's
    plotting.curves(other, rows(), x="round", y="value", by="method", order=("A", "B"))
    for color, line in zip(measured.get_facecolors(), other.get_lines(), strict=True):
        np.testing.assert_allclose(color, mpl.colors.to_rgba(line.get_color()))


def test_scaling_draws_points_bars_and_the_law():
    y = 3.0 * D**1.5 * [1.1, 0.9, 0.9, 1.1]
    fit = scaling_exponents(y, {"d_in": D})
    ax = axes()
    plotting.scaling(ax, D, y, fit, y / 2, 3 * y, label="measured", place=1)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    np.testing.assert_allclose(bars(ax), np.column_stack([y / 2, 3 * y]))
    handles, labels = ax.get_legend_handles_labels()
    points, line = handles
    assert labels[0] == "measured"
    assert labels[1] == f"∝ d_in$^{{1.50}}$ [{fit.low['d_in']:#.3g}, {fit.high['d_in']:#.3g}]"
    np.testing.assert_allclose(points.get_xydata(), np.column_stack([D, y]))
    np.testing.assert_allclose(line.get_xdata(), [10.0, 80.0])
    np.testing.assert_allclose(line.get_ydata(), fit.constant * line.get_xdata() ** 1.5)
    assert {points.get_color(), line.get_color()} == {"C1"}
    assert not marked(ax, mpl.markers.CARETUP) + marked(ax, mpl.markers.CARETDOWN)
    ax.figure.canvas.draw()


def test_open_ends_are_arrows():
    """Of a point, of a limit without a point; an interval that says nothing is not drawn."""
    y = np.array([1.0, np.nan, np.nan, np.nan])
    low, high = np.array([0.0, 5.0, 0.0, 0.0]), np.array([2.0, np.inf, 7.0, np.inf])
    ax = axes()
    plotting.scaling(ax, D, y, None, low, high)
    (down, first), (second, up), (below, third) = bars(ax)
    assert (first, second, third) == (2.0, 5.0, 7.0)
    assert 0.0 < down < 1.0
    assert up > 5.0
    assert 0.0 < below < 7.0
    assert marked(ax, mpl.markers.CARETDOWN) == [down, below]
    assert marked(ax, mpl.markers.CARETUP) == [up]
    assert marked(ax, "_") == [5.0, 2.0, 7.0]
    ax.figure.canvas.draw()


# Captions.


@pytest.mark.parametrize(
    ("values", "shown"),
    [((3, 5), ["3", "4", "5"]), ((8, 40), ["10", "20"]), ((1, 10**5), None), ((3, 3), ["2", "5"])],
)
def test_a_few_plain_numbers_label_a_logarithmic_axis(values, shown):
    _, ax = plt.subplots()
    ax.set(xscale="log")
    plotting.scaling(ax, values, [np.nan, np.nan])  # places have room without a point, too
    if values == (3, 3):
        ax.set_xlim(3.0, np.nextafter(3.0, 4.0))  # as matplotlib may make of one value
    plotting.plain_log_ticks(ax.xaxis)
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    assert low < values[0] <= values[1] < high
    labels = [t.get_text() for t in ax.get_xticklabels() if low <= t.get_position()[0] <= high]
    assert labels == shown or (shown is None and "$" in labels[0])
    plt.close(ax.figure)


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


def test_a_legend_of_evidence_names_what_differs_in_letters_that_can_be_read():
    names = ["noise = 0, d = 16, k = 2, precision = 10", "noise = 1, d = 16, k = 2, precision = 10"]
    points = pd.DataFrame(
        {
            "panel": "along n", "series": np.repeat(names, 3), "x": [1.0, 10.0, 100.0] * 2,
            "y": [1.0, 2.0, 3.0, 2.0, 4.0, 6.0], "xlabel": "n", "ylabel": "c",
        }
    )  # fmt: skip
    (ax,) = plotting.evidence(points).axes
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["noise = 0", "noise = 1"]
    assert min(text.get_fontsize() for text in texts) >= 7
    assert " ".join(ax.get_title().split()) == "along n d = 16, k = 2, precision = 10"


def test_evidence_draws_a_panel_each():
    points = pd.DataFrame(
        {
            "panel": ["one"] * 4 + ["two"] * 2,
            "series": ["a", "a", "b", "b", None, None],
            "x": [1.0, 10.0, 1.0, 10.0, 1.0, 2.0],
            "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            "predicted": [1.0, 1.0, 1.0, 1.0, np.nan, np.nan],
            "xlabel": "n",
            "ylabel": "constant",
        }
    )
    figure = plotting.evidence(points)
    assert [ax.get_title() for ax in figure.axes] == ["one", "two"]
    assert all(ax.get_xscale() == ax.get_yscale() == "log" for ax in figure.axes)
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert set(labels) == {"a", "b", "claimed"}
    assert figure.axes[1].get_legend() is None
    plt.close(figure)


def test_maps_of_nothing_have_no_limits():
    cells = [(c, a, b) for c in (1, 2) for a in (1, 2) for b in (1, 2)]
    table = pd.DataFrame(cells, columns=["c", "a", "b"]).assign(value=np.nan, replicate=0)
    figure, _ = plotting.panels(table, x="a", y="b", facet="c", value="value", label="value")
    assert len(figure.axes) == 3  # and the bar
