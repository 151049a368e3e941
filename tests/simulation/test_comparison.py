"""Methods side by side: what they are handed, and what the table makes of it."""

from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import t as student

import linrep as lr
from linrep.problems import subspace
from linrep.simulation.comparison import _parts
from tests.tools import complaint

matplotlib.use("Agg")

TRUTH = lr.SharedRepresentation.random(n=15, d=6, k=2, noise=0.3, rng=0)


def drawer(times):
    """Return a method of one's own that draws samples so many times in three rounds."""

    def own(problem, *, m, k, rng):
        seen = [problem.draw(m, rng=rng) for _ in range(times)]
        B = lr.moments_start(seen[-1], k)

        def measure(B):
            return {"distance": subspace.distance(B, problem.B)}

        return lr.run_rounds(
            lambda B, t: B, B, rounds=3, measure=measure, final=lambda B: {"B": B}, algorithm="own"
        )

    return own


def keeper(seen):
    """Return a method that keeps the samples it is handed, and its random numbers."""

    def keep(problem, *, k, rng):
        seen.append((problem, rng.integers(2**63)))
        return lr.alternating_least_squares(problem, k=k, rounds=2)

    return keep


def rows_of(pairs, m=5):
    """Return rows of two methods, a and b: the distances of each trial are a pair."""
    return pd.DataFrame(
        {"method": name, "trial": trial, "m": m, "samples": 10 * m, "distance": value,
         "stop_reason": "rounds"}
        for trial, pair in enumerate(pairs)
        for name, value in zip("ab", pair, strict=True)
    )  # fmt: skip


def frame(found):
    return found.rows.drop(columns="seconds")


def test_all_methods_are_handed_the_same_samples_truths_and_streams():
    first, second = [], []
    lr.compare(
        lambda rng: lr.SharedRepresentation.random(n=9, d=5, k=2, rng=rng),
        {"one": keeper(first), "two": keeper(second)}, m=[4, 8], k=2, trials=3, rng=1,
    )  # fmt: skip
    assert len(first) == len(second) == 6
    for (one, number), (two, other) in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.X, two.X)
        np.testing.assert_array_equal(one.y, two.y)
        assert number == other
    truths = {each.truth.theta.tobytes() for each, _ in first}
    assert len(truths) == 3  # one per trial, the same for all sizes
    assert len({each.X.tobytes() for each, _ in first}) == 6


def test_numbers_depend_on_neither_workers_nor_order():
    def run(names, workers=1):
        return lr.compare(
            TRUTH, names, m=[5, 10], k=2, trials=3, rounds=5, sampling="fresh", axis="rounds",
            workers=workers, rng=2,
        )  # fmt: skip

    one = run({"own": drawer(3), "fedrep": "fedrep"})
    pd.testing.assert_frame_equal(frame(one), frame(run({"own": drawer(3), "fedrep": "fedrep"}, 2)))
    turned = run({"fedrep": "fedrep", "own": drawer(3)})
    order = ["method", "trial", "m", "rounds"]
    pd.testing.assert_frame_equal(
        frame(one).sort_values(order, ignore_index=True),
        frame(turned).sort_values(order, ignore_index=True),
    )


def test_a_method_that_draws_itself_is_given_the_common_samples():
    seen = []
    found = lr.compare(
        TRUTH, {"own": drawer(1), "other": keeper(seen)}, m=7, k=2, trials=2, rng=3,
    )  # fmt: skip
    assert found.metric == "distance"
    assert set(found.rows["samples"]) == {15 * 7}
    for trial, (data, _) in enumerate(seen):
        own = found.rows[(found.rows["method"] == "own") & (found.rows["trial"] == trial)]
        expected = subspace.distance(lr.moments_start(data, 2), TRUTH.B)
        # To rounding: sums of samples depend on how their arrays lie in memory.
        assert own["distance"].item() == pytest.approx(expected, rel=1e-12)
    with complaint(ValueError, "again", "more than once", "sampling"):
        lr.compare(TRUTH, {"again": drawer(2)}, m=7, k=2, trials=1, rng=3)


def test_fresh_samples_are_counted_and_have_to_be_drawn():
    found = lr.compare(
        TRUTH, {"own": drawer(3), "fedrep": ("fedrep", {"participation": 0.4, "rounds": 5})},
        m=4, k=2, trials=2, sampling="fresh", rng=4,
    )  # fmt: skip
    last = found.rows.groupby("method")["samples"].max()
    assert last["own"] == 3 * 15 * 4
    assert last["fedrep"] == 5 * 6 * 4 + 15 * 4  # six participants a round, and the start
    with complaint(ValueError, "own: drew samples 1 times in 3 rounds"):
        lr.compare(TRUTH, {"own": drawer(1)}, m=4, k=2, trials=1, sampling="fresh", rng=4)
    with complaint(ValueError, "pooled", "does not"):
        lr.compare(TRUTH, ["fedrep", "pooled"], m=4, sampling="fresh")


def test_own_sampling_is_said():
    found = lr.compare(
        TRUTH, {"fedrep": "fedrep", "own": drawer(1)}, m=6, k=2, rounds=3, trials=2,
        sampling="own", rng=5,
    )  # fmt: skip
    assert "which differs" in found.summary()
    last = found.rows.groupby("method")["samples"].max()
    assert last["fedrep"] > last["own"] == 15 * 6


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0)), min_size=2, max_size=6, unique=True
    )
)
def test_the_table_is_of_logarithms_in_pairs(pairs):
    table = lr.Comparison(rows_of(pairs)).table.loc[5]
    logs = np.log(np.array(pairs))
    best = ("a", "b")[int(np.argmin(logs.mean(axis=0)))]
    assert table.index[0] == best
    quantile = student.ppf(0.975, len(pairs) - 1)
    for place, name in enumerate(("a", "b")):
        row = table.loc[name]
        assert row["mean"] == pytest.approx(np.exp(logs[:, place].mean()))
        half = quantile * logs[:, place].std(ddof=1) / np.sqrt(len(pairs))
        assert row["high"] / row["mean"] == pytest.approx(np.exp(half))
        ratio = logs[:, place] - logs[:, ("a", "b").index(best)]
        assert row["times"] == pytest.approx(np.exp(ratio.mean()))
        half = quantile * ratio.std(ddof=1) / np.sqrt(len(pairs))
        assert row["times_low"] == pytest.approx(np.exp(ratio.mean() - half))
    ranks = [1.5 if one == two else 1.0 + (one > two) for one, two in pairs]
    assert table.loc["a", "rank"] == pytest.approx(np.mean(ranks))


def test_the_sentence_says_who_is_ahead_where():
    def rows(m, a, b):
        shares = 0.01 * (np.arange(4) + 5)
        return rows_of(zip(a * (1.0 + shares), b * (1.0 + 2.0 * shares), strict=True), m)

    table = pd.concat([rows(1, 0.5, 0.9), rows(2, 0.1, 0.3), rows(4, 0.1, 0.01)])
    text = lr.Comparison(table).summary()
    assert "a is ahead of b from 10 to 20 samples" in text
    assert "b is ahead of a at 40 samples" in text
    assert "the same samples, once" in text
    level = lr.Comparison(rows(1, 0.5, 0.5))
    assert "is ahead of" in level.summary()  # by a little in every trial
    noisy = table[table["m"] == 1].assign(distance=[0.1, 0.2, 0.3, 0.1, 0.2, 0.2, 0.1, 0.3])
    assert "is level with" in lr.Comparison(noisy).summary()


def test_data_of_ones_own_are_compared_by_held_out_samples():
    data = replace(TRUTH.draw(20, rng=1), truth=None)
    methods = {"pooled": "pooled", "als": ("alternating_least_squares", {"k": 2})}
    found = lr.compare(data, methods, m=12, trials=3, rng=6)
    assert found.metric == "unexplained"
    assert found.table.loc[12].index[0] == "als"
    whole = lr.compare(data, methods, trials=2, rng=6)
    assert len(whole.rows) == 4
    assert "als" in whole.summary()
    with complaint(ValueError, "sampling", "ClientData"):
        lr.compare(data, methods, m=12, sampling="fresh")


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=5), keep=st.integers(1, 6) | st.none()
)
def test_every_client_holds_out_samples_but_one_at_least(sizes, keep):
    assume(max(sizes) > (keep or 1))
    X = np.arange(float(sum(sizes)))[:, None]
    names = tuple("abcde"[: len(sizes)])
    data = lr.ClientData(X, X[:, 0], np.append(0, np.cumsum(sizes)), names)
    train, test = _parts(data, keep, np.random.default_rng(0))
    kept = [min(keep, m) if keep else max(m - int(0.3 * m + 0.5), 1) for m in sizes]
    assert (train.names, train.m.tolist()) == (names, kept)
    for i, name in enumerate(names):
        both = [
            part.client(part.names.index(name))[1] for part in (train, test) if name in part.names
        ]
        assert all((np.diff(y) > 0.0).all() for y in both)
        np.testing.assert_array_equal(np.sort(np.concatenate(both)), data.client(i)[1])


def test_samples_to_hold_out_have_to_be_there():
    data = lr.ClientData(np.ones((3, 1)), np.ones(3), [0, 1, 3])
    with complaint(ValueError, "no sample is held out", "1 to 2 samples"):
        lr.compare(data, ["pooled"], m=2, trials=1, rng=0)


def test_one_run_without_a_number_leaves_the_others():
    found = lr.Comparison(rows_of([(0.1, 0.2), (np.nan, 0.3), (0.1, 0.4)]))
    assert found.table.loc[(5, "a"), "trials"] == 2
    assert found.table.loc[(5, "b"), "mean"] == pytest.approx(np.sqrt(0.2 * 0.4))
    assert "a is" in found.summary()

    def flat(problem, *, rng):
        state = {"B": np.zeros((6, 2)), "W": np.zeros((15, 2))}
        return lr.Trace("flat", {"loss": np.array([1.0])}, state)

    run = lr.compare(TRUTH, {"flat": flat, "fedrep": "fedrep"}, m=5, rounds=2, trials=2, rng=0)
    assert run.metric == "population_risk"  # no distance of a matrix without rank


def test_a_run_that_diverges_is_counted():
    found = lr.compare(
        TRUTH, {"short": "fedsgd", "long": ("fedsgd", {"step_size": 1e6})}, m=5, k=2,
        step_size=0.05, rounds=30, trials=2, rng=7,
    )  # fmt: skip
    assert found.table.loc[(5, "long"), "diverged"] == 2
    assert found.table.loc[(5, "short"), "diverged"] == 0
    assert found.settings.loc["short", "step_size"] == 0.05


def test_pictures_files_and_bounds(tmp_path):
    found = lr.compare(TRUTH, ["fedrep", "local_only"], m=[4, 8], k=2, rounds=5, trials=2, rng=8)
    ax = found.plot(bounds={"1/N": lambda samples: 1.0 / samples})
    assert ax.get_xscale() == "log"
    assert {"fedrep", "local_only", "1/N"} <= {line.get_label() for line in ax.lines}
    assert "same samples" in ax.get_title()
    for axis in ("rounds", "floats", "seconds"):
        curve = lr.compare(TRUTH, ["fedrep"], m=4, k=2, rounds=5, trials=2, axis=axis, rng=8)
        assert len(curve.rows) == 2 * 6
        curve.plot().figure.canvas.draw()
    matplotlib.pyplot.close("all")
    found.to_parquet(tmp_path / "rows.parquet")
    stored = pd.read_parquet(tmp_path / "rows.parquet")
    assert (stored["sampling"] == "fixed").all()
    pd.testing.assert_frame_equal(stored.drop(columns="sampling"), found.rows)
    assert "principal-angle distance" in repr(found)


REFUSED = [
    (["fedrep"], {"foo": 1}, ValueError, "no method has a setting 'foo'"),
    ({"local_only": {"k": 3}}, {}, ValueError, "local_only has no setting 'k'"),
    (["fedrep"], {"m": None}, ValueError, "m must be given"),
    (["fedrep"], {"m": []}, ValueError, "m must hold at least one"),
    (["fedrep", "fedrep"], {}, ValueError, "'fedrep' twice"),
    ([], {}, ValueError, "at least one method"),
    (["nothing"], {}, ValueError, "algorithms must be methods of"),
    ({"x": ("fedrep", 3)}, {}, TypeError, "a method and a mapping"),
    (["local_only"], {"metric": "unexplained"}, ValueError, "(distance, population_risk)"),
    (["fedrep"], {"simulate": True}, ValueError, "sampling='fresh'"),
    ({"own": drawer(3)}, {"k": 2, "sampling": "fresh", "simulate": True}, ValueError, "batches"),
    (
        ["fedrep"], {"batches": "split", "sampling": "fresh", "simulate": True}, ValueError,
        "fedrep: batches must be 'gram'",
    ),
    ({"own": lambda problem: 3}, {}, TypeError, "own: a linrep.Trace must be returned"),
]  # fmt: skip


def test_what_is_wrong_is_said_in_a_line():
    for methods, options, kind, words in REFUSED:
        with complaint(kind, words):
            lr.compare(TRUTH, methods, **{"m": 4, "trials": 1, **options})


def test_the_distance_of_models_is_that_of_their_leading_directions():
    seen = []
    found = lr.compare(
        TRUTH, {"local_only": "local_only", "pooled": "pooled", "keep": keeper(seen)}, m=9, k=2,
        trials=1, rng=3,
    )  # fmt: skip
    rows = found.rows.set_index("method")
    models = lr.local_only(seen[0][0]).models
    leading = np.linalg.svd(models)[2][:2].T
    assert rows.loc["local_only", "distance"] == pytest.approx(subspace.distance(leading, TRUTH.B))
    assert np.isnan(rows.loc["pooled", "distance"])  # one model has no two directions
    assert found.metric == "population_risk"


def test_bounds_are_drawn_where_they_are_of_the_same_samples():
    both = {"erm": ("erm", {"restarts": 1}), "als": "alternating_least_squares"}
    found = lr.compare(TRUTH, both, m=[8, 12], k=2, trials=3, metric="population_risk", rng=8)
    assert list(found.bounds) == ["Cramér-Rao", "representation known"]
    expected = 0.5 * lr.theory.bounds.cramer_rao(TRUTH, 8).mean
    assert found.bounds["Cramér-Rao"](15 * 8) == pytest.approx(expected)
    between = found.bounds["Cramér-Rao"](15 * 8.5)
    later = 0.5 * lr.theory.bounds.cramer_rao(TRUTH, 9).mean
    assert between == pytest.approx(np.sqrt(expected * later))
    colors = [line.get_color() for line in found.plot().lines[:2]]
    with lr.plotting.style():
        assert colors == [matplotlib.colors.to_hex(f"C{place}") for place in range(2)]
    labels = {line.get_label() for line in found.plot().lines}
    assert {"erm", "als", "Cramér-Rao"} <= labels
    assert "Cramér-Rao" not in {line.get_label() for line in found.plot(bounds={}).lines}
    angles = lr.compare(TRUTH, both, m=8, k=2, trials=1, rng=8)
    squares = lr.theory.bounds.cramer_rao(TRUTH, 8).squared_chordal
    assert angles.bounds["Cramér-Rao"](15 * 8) == pytest.approx(np.sqrt(squares / 2))
    anew = lr.compare(
        lambda rng: lr.SharedRepresentation.random(n=15, d=6, k=2, noise=0.3, rng=rng),
        both, m=8, k=2, trials=3, metric="population_risk", rng=8,
    )  # fmt: skip
    assert anew.bounds["Cramér-Rao"](120) > 0.0
    quiet = lr.SharedRepresentation.random(n=15, d=6, k=2, rng=0)
    assert lr.compare(quiet, both, m=8, k=2, trials=1, rng=8).bounds == {}
    fresh = lr.compare(TRUTH, ["fedrep"], m=8, sampling="fresh", rounds=3, trials=1, rng=8)
    assert fresh.bounds == {}
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("axis", ["rounds", "samples"])
def test_the_curve_of_fresh_samples_is_drawn_beside_the_runs(axis):
    def problem(rng):
        return lr.SharedRepresentation.random(n=400, d=200, k=2, store=False, rng=rng)

    found = lr.compare(
        problem, {"FedRep": "fedrep", "FedSGD": ("fedsgd", {"step_size": 0.2})}, m=10, rounds=20,
        sampling="fresh", axis=axis, start=0.5, trials=2, rng=3,
    )  # fmt: skip
    (name,) = found.predictions  # of FedSGD none is known
    assert name == "predicted, FedRep"
    own = found.rows[found.rows["method"] == "FedRep"]
    for place, part in own.groupby(axis):
        # A run differs by a factor of e^.05 (one standard deviation at n = 400 and 20 rounds).
        expected = np.exp(np.log(part["distance"]).mean())
        assert found.predictions[name](place) == pytest.approx(expected, rel=0.15)
    assert name in {line.get_label() for line in found.plot().lines}
    several = lr.compare(
        problem, ["fedrep"], m=[8, 10], sampling="fresh", start=0.5, rounds=2, trials=1, rng=0
    )
    assert several.predictions == {}
    matplotlib.pyplot.close("all")


@pytest.mark.slow
@pytest.mark.compiled
def test_fresh_samples_of_any_number_are_simulated():
    """n = 10^5 in d = 10^6, of which no sample is ever drawn."""
    truth = lr.SharedRepresentation.random(n=10**5, d=10**6, k=2, noise=0.1, store=False, rng=0)
    methods = {
        "FedRep": "fedrep", "GD-GD": ("fedrep", {"local_steps": 1}), "FedSGD": "fedsgd",
        "split": ("fedrep", {"batches": "gram_split"}),
    }  # fmt: skip
    run = {"m": 10**4, "start": 0.5, "sampling": "fresh", "rounds": 20, "rng": 1, "trials": 2}
    found = lr.compare(truth, methods, **run, step_size=0.2)
    assert found.sampling == "simulated"
    assert "simulated with the same law" in found.summary()
    assert set(found.settings["batches"]) == {"gram", "gram_split"}
    ends = found.rows.groupby("method")["samples"].max()
    assert ends["FedRep"] == 20 * 10**9
    assert ends["split"] == 2 * 20 * 10**9
    distances = found.table["mean"].droplevel("m")
    assert distances["FedRep"] < 0.05 < distances["FedSGD"]
    with complaint(ValueError, "alternating_least_squares", "does not"):
        lr.compare(truth, ["alternating_least_squares"], m=4, k=2, sampling="fresh")


@pytest.mark.compiled
def test_simulated_samples_have_the_law_of_drawn_ones():
    """Means over 300 runs, which differ by at most five standard errors."""
    run = {"m": 6, "rounds": 3, "start": 0.5, "trials": 300, "sampling": "fresh", "axis": "rounds"}
    logs = []
    for simulate, seed in ((False, 1), (True, 2)):
        found = lr.compare(TRUTH, ["fedrep"], **run, simulate=simulate, rng=seed)
        logs.append(np.log(found.rows.query("rounds == 3")["distance"].to_numpy()))
    errors = [np.std(each, ddof=1) / np.sqrt(len(each)) for each in logs]
    assert abs(logs[0].mean() - logs[1].mean()) < 5.0 * np.hypot(*errors)
