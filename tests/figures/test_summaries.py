"""What summaries have in common."""

import numpy as np
import pandas as pd

import linrep as lr
from linrep.figures import counts, summaries
from linrep.sweeps import Grid
from tests.tools import complaint


def test_thresholds_beyond_what_was_tried_have_an_end():
    table = pd.DataFrame(
        [(which, m, which == "always" or (which == "at 3" and m >= 3))
         for which in ("always", "at 3", "never") for m in (1, 2, 3, 4) for _ in range(5)],
        columns=["which", "m", "success"],
    )  # fmt: skip
    found = summaries.crossings(table, "success", "m", ["which"]).set_index("which")["estimate"]
    assert found["always"] == 0.0
    assert 2.0 < found["at 3"] < 3.0
    assert found["never"] == np.inf
    # Conditions, of one group.
    rows = pd.DataFrame({"m": np.repeat([1, 2, 4], 10), "error": np.repeat([3.0, 2.0, 1.0], 10)})
    some = [
        summaries.crossings(rows, f"error < {most}", "m")["estimate"].item()
        for most in (0.5, 2.5, 5.0)
    ]
    assert some[0] == np.inf
    assert 1.0 < some[1] < 2.0
    assert some[2] == 0.0


def test_counts_are_numbers_that_read_as_texts():
    share = summaries.counted(pd.Series([True, False, True]))
    assert (share, str(share)) == (counts.Share(2, 3), "2 of 3")
    won = pd.Series([True, False, False, True], pd.Index([1, 1, 1, 2], name="m"))
    lost = pd.Series([False, True, False, False], won.index)
    assert list(map(str, counts.ordered(won, lost, ["m"]))) == ["1/1/1", "1/0/0"]


def test_rows_have_the_means_of_the_last_rounds_that_traces_have():
    traces = {
        (method, replicate): lr.Trace(
            method, {"accuracy": 10.0**replicate * np.arange(len(recorded))}, {}, recorded=recorded
        )
        for method, recorded in {"B": np.array([0, 5, 19, 28, 30]), "A": np.arange(4)}.items()
        for replicate in range(2)
    }
    rows = pd.concat(
        trace.to_frame().reset_index().assign(method=method, replicate=replicate)
        for (method, replicate), trace in traces.items()
    )
    for rounds in (1, 3, 10, 12, 100):
        means = summaries.mean_of_last(rows, by=["method"], rounds=rounds)
        assert list(means[["method", "replicate"]].itertuples(index=False, name=None)) == [*traces]
        expected = [trace.mean_of_last("accuracy", rounds) for trace in traces.values()]
        np.testing.assert_allclose(means["accuracy"], expected)


def test_accuracies_are_percents_with_labels():
    trace = lr.Trace("", {"accuracy": np.array([0.25, 0.5])}, {}, recorded=np.array([0, 20]))
    rows = summaries.accuracies(trace, method="FedRep", lr=0.1)
    assert rows.to_dict("list") == {
        "method": ["FedRep"] * 2,
        "lr": [0.1] * 2,
        "round": [0, 20],
        "accuracy": [25.0, 50.0],
    }


def test_means_stand_beside_published_numbers():
    rows = pd.DataFrame(
        {
            "n": [10, 10, 10, 20],
            "method": ["B", "B", "A", "B"],
            "accuracy": [0.5, 0.7, 0.9, 0.4],
            "lr": [0.1, 0.01, 0.1, 1e-4],
        }
    )
    paper = {(10, "B"): (0.65, np.nan), (10, "C"): (0.1, 0.01)}
    table = summaries.beside(rows, paper, by=["n", "method"], listed=["lr"]).reset_index()
    assert table["lr"].tolist() == ["0.01, 0.1", "0.1", "0.0001"]
    assert table[["n", "method"]].to_numpy().tolist() == [[10, "B"], [10, "A"], [20, "B"]]
    np.testing.assert_allclose(table["accuracy"], [0.6, 0.9, 0.4])
    np.testing.assert_array_equal(table["paper"], [0.65, np.nan, np.nan])
    assert "paper_error" not in table  # C was not run
    assert table["replicates"].tolist() == [2, 1, 1]
    assert table["low"][0] < 0.5 < 0.7 < table["high"][0]
    assert np.isnan(table["low"][1])
    paper[10, "B"] = (0.65, 0.02)
    table = summaries.beside(rows, paper, by=["n", "method"])
    np.testing.assert_array_equal(table["paper_error"], [0.02, np.nan, np.nan])


def test_rows_along_one_parameter_are_those_of_the_setting_in_the_middle():
    grid = Grid.around({"n": 10, "m": 5}, {"n": [10, 20], "m": [5, 8]})
    table = pd.DataFrame(list(grid))
    assert list(summaries.along(table, "n", {"n": 10, "m": 5})["n"]) == [10, 20]
    assert list(summaries.along(table, "m", {"n": 10, "m": 5})["m"]) == [5, 8]
    with complaint(ValueError, "'k'"):
        Grid.around({"n": 1}, {"k": [1]})


def seeds_of(means, noise, replicates=5):
    """Return rows of methods whose replicates share what makes most of their spread."""
    rng = np.random.default_rng(3)
    shared = 10.0 * rng.standard_normal(replicates)
    return pd.DataFrame(
        {
            "method": name,
            "replicate": range(replicates),
            "accuracy": mean + shared + noise * rng.standard_normal(replicates),
        }
        for name, mean in means.items()
    ).explode(["replicate", "accuracy"], ignore_index=True).astype({"accuracy": float})  # fmt: skip


def test_an_order_of_methods_is_claimed_only_where_the_seeds_support_it():
    rows = seeds_of({"A": 50.0, "B": 52.0, "C": 51.99}, noise=0.05)
    found = summaries.against_highest(rows)
    assert found == {("A",): "lower", ("B",): "highest", ("C",): "not distinguishable"} or (
        found == {("A",): "lower", ("B",): "not distinguishable", ("C",): "highest"}
    )
    # By their intervals alone all three overlap: what seeds share is taken out.
    table = summaries.beside(rows, {}, by=["method"], ordered="method")
    assert table["low"].max() < table["high"].min()
    assert table["order"].tolist() == [found[name,] for name in "ABC"]
    # Two seeds claim nothing, nor do replicates that methods do not share.
    for few in (rows[rows["replicate"] < 1], rows[rows["replicate"] < 2]):
        assert sorted(summaries.against_highest(few).values()) == [
            "highest", "too few replicates", "too few replicates",
        ]  # fmt: skip
    apart = rows.assign(replicate=np.arange(len(rows)))
    assert summaries.differences(apart)["p"].isna().all()
    # Pairs that cannot be compared cost the others nothing.
    more = pd.concat([rows, few.assign(method=few["method"] + " + FT")])
    compared = summaries.differences(more).dropna(subset="p").reset_index(drop=True)
    pd.testing.assert_frame_equal(compared, summaries.differences(rows))


def test_groups_are_compared_by_themselves_and_all_pairs_share_a_level():
    one, two = seeds_of({"A": 1.0, "B": 5.0}, 0.01), seeds_of({"A": 5.0, "B": 1.0}, 0.01)
    both = pd.concat([one.assign(n=10), two.assign(n=20)])
    found = summaries.against_highest(both, by=["n"])
    assert found == {
        (10, "A"): "lower", (10, "B"): "highest", (20, "A"): "highest", (20, "B"): "lower",
    }  # fmt: skip
    assert summaries.differences(both, by=["n"])["n"].tolist() == [10, 20]


def test_pairs_have_the_p_values_of_the_paired_test_by_holm():
    from scipy.stats import ttest_rel

    rows = seeds_of({"A": 0.0, "B": 0.2, "C": 0.5}, noise=0.2)
    wide = rows.pivot(index="replicate", columns="method", values="accuracy")
    raw = [ttest_rel(wide[one], wide[two]).pvalue for one, two in ("AB", "AC", "BC")]
    first, second, third = np.sort(raw)
    expected = dict(zip(np.sort(raw), [
        3 * first, max(3 * first, 2 * second), max(3 * first, 2 * second, third),
    ], strict=True))  # fmt: skip
    found = summaries.differences(rows)
    np.testing.assert_allclose(found["p"], [min(1.0, expected[p]) for p in raw])
    np.testing.assert_allclose(found["difference"][0], (wide["A"] - wide["B"]).mean())


def test_recorded_rows_are_those_of_the_traces():
    truth = lr.SharedRepresentation.random(n=4, d=5, k=2, rng=0)
    runs = [
        (lr.fedrep(truth, m=8, rounds=3, record=record, rng=1), {"method": method, "half": half})
        for method, record, half in (("one", 1, 0.5), ("other", 2, 1.0))
    ]
    expected = pd.concat(
        [trace.to_frame()[["distance"]].reset_index().assign(**said) for trace, said in runs],
        ignore_index=True,
    )
    pd.testing.assert_frame_equal(summaries.recorded(runs, "distance"), expected)
