import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.trace import Trials
from tests.strategies import seeds
from tests.tools import complaint


def make(rounds=5, state=None, **options):
    metrics = {
        "distance": 0.5 ** np.arange(rounds + 1.0),
        "loss": np.append(np.nan, np.ones(rounds)),
    }
    options = {"settings": {"step_size": 0.25, "note": "<b>&"}, "wall_time": 1.5} | options
    return lr.Trace("FedRep", metrics, state or {"B": np.eye(2)}, **options)


# Reading a trace.


def test_a_trace_reads_like_a_mapping_of_its_metrics():
    trace = make()
    assert trace["distance"] is trace.metrics["distance"]
    assert "loss" in trace
    assert "risk" not in trace
    assert list(trace) == list(trace.keys()) == ["distance", "loss"]
    assert (trace.rounds, trace.step_size) == (5, 0.25)
    assert make(rounds=0).rounds == 0


def test_a_data_frame_has_one_row_per_round():
    frame = make().to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.name == "round"
    assert frame.index.tolist() == [0, 1, 2, 3, 4, 5]
    assert list(frame) == ["distance", "loss"]
    np.testing.assert_array_equal(frame["distance"], make()["distance"])
    np.testing.assert_array_equal(frame["loss"], make()["loss"])


def test_a_dataset_has_metrics_state_and_settings():
    pytest.importorskip("xarray")
    settings = {"step_size": 0.25, "record": None, "fresh": True, "coordinates": np.arange(2)}
    state = {"B": np.ones((3, 2)), "W": np.zeros((4, 2)), "w": np.ones(2), "t": np.float64(3.0)}
    trace = make(settings=settings, state=state, clients=("a", "b", "c", "d"), notes=("so", "so"))
    data = trace.to_xarray()
    assert data["distance"].dims == ("round",)
    assert data["distance"].attrs["long_name"] == "principal-angle distance"
    np.testing.assert_array_equal(data["distance"], trace["distance"])
    np.testing.assert_array_equal(data["round"], trace.recorded)
    assert (data["B"].dims, data["W"].dims) == (("feature", "component"), ("client", "component"))
    assert (data["w"].dims, data["t"].dims) == (("w_0",), ())
    assert list(data["client"].values) == ["a", "b", "c", "d"]
    assert (data["wall_time"].item(), data["wall_time"].attrs) == (1.5, {"units": "s"})
    assert data.attrs == {
        "step_size": 0.25, "fresh": "true", "coordinates_of": "[0, 1]", "algorithm": "FedRep",
        "stop_reason": "rounds", "notes": "so; so",
    }  # fmt: skip


def test_a_dataset_can_be_written_and_read(tmp_path):
    xarray = pytest.importorskip("xarray")
    truth = lr.SharedRepresentation.random(n=6, d=4, k=2, rng=0)
    data = lr.fedrep(truth, m=5, rounds=3, rng=1).to_xarray()
    data.to_netcdf(tmp_path / "trace.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "trace.nc", engine="scipy") as read:
        assert read.equals(data)
        for name, value in data.attrs.items():
            assert read.attrs[name] == value


@given(st.integers(1, 8), st.integers(1, 12), st.data())
def test_mean_of_last_rounds_never_counts_the_start(rounds, count, data):
    kept = data.draw(st.sets(st.integers(1, rounds)))
    recorded = np.array(sorted({0, *kept, rounds}))
    trace = make(rounds=len(recorded) - 1, recorded=recorded)
    trace.metrics["value"] = np.where(recorded == 0, 1e9, recorded)
    last = [t for t in recorded if t in lr.trace.last_rounds(rounds, count)]
    assert last[-1] == rounds
    assert len(last) <= min(rounds, count)
    np.testing.assert_allclose(trace.mean_of_last("value", count), np.mean(last))


def test_repr_tells_the_method_its_ending_and_the_last_metrics():
    text = repr(make(stop_reason="diverged"))
    assert text.splitlines() == [
        "Trace of FedRep",
        "  rounds: 5 (diverged)",
        "  principal-angle distance: 0.03125",
        "  training loss: 1",
        "  wall time: 1.5 s",
    ]
    assert repr(make()).splitlines()[1] == "  rounds: 5"


def test_plot_draws_the_metric_on_a_logarithmic_axis():
    axes = make().plot(color="red")
    try:
        (line,) = axes.lines
        np.testing.assert_array_equal(line.get_xdata(), np.arange(6))
        np.testing.assert_array_equal(line.get_ydata(), make()["distance"])
        assert axes.get_yscale() == "log"
        assert axes.get_xlabel() == "round"
        assert axes.get_ylabel() == "principal-angle distance"
        assert line.get_color() == "red"
        assert axes.get_legend().get_texts()[0].get_text() == "FedRep"
        same = make().plot("loss", ax=axes, label="other")
        assert same is axes
        assert [line.get_label() for line in axes.lines] == ["FedRep", "other"]
        axes.figure.canvas.draw()
    finally:
        plt.close(axes.figure)


def test_a_plot_obeys_the_users_style_and_leaves_it_as_it_was():
    own = {"lines.linewidth": 7.0, "axes.facecolor": "#eeeeee"}
    with plt.rc_context(own):
        before = dict(plt.rcParams)
        axes = make().plot()
        assert dict(plt.rcParams) == before
    assert axes.lines[0].get_linewidth() == 7.0
    assert axes.get_facecolor()[0] == pytest.approx(0xEE / 255)
    plt.close(axes.figure)


# Several trials.


def test_trials_are_a_list_with_all_metrics_in_one_table_and_show_the_first_of_them():
    table = Trials([make(2), make(3)]).to_frame()
    assert list(table) == ["replicate", "round", "distance", "loss"]
    assert list(table["replicate"]) == [0] * 3 + [1] * 4
    np.testing.assert_array_equal(table["distance"][3:], make(3)["distance"])
    first, line, *_, last = lines = repr(Trials([make()] * 12)).splitlines()
    assert (len(lines), first, last) == (12, "12 trials of FedRep", "  and 2 more")
    assert "principal-angle distance 0.03125" in line
    assert repr(Trials()) == "no trials"


def test_trials_are_drawn_in_one_colour_with_one_entry_in_the_legend():
    axes = Trials([make(), make(rounds=2)]).plot("loss")
    assert len(axes.lines) == 2
    assert len({line.get_color() for line in axes.lines}) == 1
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["FedRep"]
    assert Trials([make()]).plot(ax=axes, color="red", label="other") is axes
    assert axes.lines[2].get_color() == "red"
    plt.close(axes.figure)


def test_rate_is_that_of_the_metrics_finite_values():
    rate = make(rounds=40).rate()
    assert rate.rate == pytest.approx(0.5, rel=1e-12)
    assert rate.steps == 40
    assert make(rounds=40).rate("loss").rate == 1.0
    assert make(rounds=40).rate(confidence=0.5).confidence == 0.5


# Recording an algorithm given as a step.


def halve(state, t):
    return {"x": state["x"] / 2.0, "t": t}


def measure(state):
    return {"size": float(state["x"])}


@given(seeds, st.integers(0, 20))
def test_run_rounds_and_a_loop_by_hand_agree(seed, rounds):
    A = np.random.default_rng(seed).standard_normal((3, 3)) / 3.0
    x = np.ones(3)
    expected = [float(np.abs(x).max())]
    for _ in range(rounds):
        x = A @ x
        expected.append(float(np.abs(x).max()))
    trace = lr.run_rounds(
        lambda state, t: {"x": A @ state["x"], "t": t},
        {"x": np.ones(3), "t": 0},
        rounds=rounds,
        measure=lambda state: {"size": np.abs(state["x"]).max()},
        algorithm="mine",
        settings={"a": 1},
    )
    np.testing.assert_array_equal(trace["size"], expected)
    np.testing.assert_array_equal(trace.state["x"], x)
    assert (trace.state["t"], trace.rounds, trace.stop_reason) == (rounds, rounds, "rounds")
    assert (trace.algorithm, trace.settings) == ("mine", {"a": 1})
    assert trace.wall_time >= 0.0


def test_run_rounds_stops_where_told():
    trace = lr.run_rounds(
        halve, {"x": 8.0}, rounds=9, measure=measure, stop=lambda row: row["size"] <= 2.0
    )
    np.testing.assert_array_equal(trace["size"], [8.0, 4.0, 2.0])
    assert (trace.algorithm, trace.stop_reason) == ("custom", "converged")
    assert trace.state["x"] == 2.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_run_rounds_drops_a_round_that_is_not_finite(bad):
    def step(state, t):
        return {"x": bad if t == 3 else state["x"] + 1.0}

    trace = lr.run_rounds(step, {"x": 0.0}, rounds=9, measure=measure)
    np.testing.assert_array_equal(trace["size"], [0.0, 1.0, 2.0])
    assert (trace.stop_reason, trace.state) == ("diverged", {"x": 2.0})


def test_run_rounds_takes_any_state_with_a_last_word():
    trace = lr.run_rounds(
        lambda state, _: (*state, len(state)),
        (),
        rounds=2,
        measure=lambda state: {"length": len(state)},
        final=lambda state: {"items": np.array(state)},
    )
    np.testing.assert_array_equal(trace.state["items"], [0, 1])
    assert trace["length"].dtype == np.float64


def run(rounds):
    return lr.run_rounds(halve, {"x": 1.0}, rounds=rounds, measure=measure)


REFUSED = [
    (lambda: make()["risk"], KeyError, ("no metric 'risk'", "'distance', 'loss'")),
    (lambda: make().mean_of_last("risk"), KeyError, ("no metric 'risk'",)),
    (lambda: make(rounds=0).mean_of_last("distance"), ValueError, ("only its start",)),
    (lambda: make().mean_of_last("distance", 0), ValueError, ("rounds", "0")),
    (lambda: Trials().plot(), ValueError, ("no trial",)),
    (lambda: run(-1), ValueError, ("rounds", "-1")),
    (lambda: run(2.0), TypeError, ("rounds", "2.0")),
    (lambda: run(None), TypeError, ("rounds", "None")),
]


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED)
def test_what_is_wrong_is_named(call, kind, words):
    with complaint(kind, *words):
        call()
