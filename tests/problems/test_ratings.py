"""Ratings of one's own, and in MovieLens' layout, from a small generated table."""

import numpy as np
import pandas as pd
import pytest

import linrep as lr
from linrep.algorithms import imc
from linrep.problems.ratings import Ratings, encode
from linrep.problems.reading import read_movielens

CLIENTS, ITEMS = 60, 25


@pytest.fixture
def folder(tmp_path):
    """Write a table in MovieLens' layout: tastes depend on age and gender."""
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 70, CLIENTS)
    genders, jobs = rng.choice(["F", "M"], CLIENTS), rng.choice(["artist", "doctor"], CLIENTS)
    Z = np.column_stack([np.ones(CLIENTS), (ages - 44) / 15, genders == "M"])
    scores = 3.0 + 0.5 * rng.standard_normal((ITEMS, 3)) @ Z.T
    lines = []
    for client in range(CLIENTS):
        for item in rng.choice(ITEMS, 10, replace=False):
            rating = scores[item, client] + 0.2 * rng.standard_normal()
            lines.append(f"{client + 1}\t{item + 1}\t{rating:.3f}\t88125{client}")
    (tmp_path / "u.data").write_text("\n".join(lines) + "\n")
    (tmp_path / "u.user").write_text(
        "".join(
            f"{client + 1}|{ages[client]}|{genders[client]}|{jobs[client]}|00000\n"
            for client in range(CLIENTS)
        )
    )
    (tmp_path / "u.item").write_text(
        "".join(f"{item + 1}|Film é {item + 1} (1995)|01-Jan-1995||x\n" for item in range(ITEMS)),
        encoding="latin-1",
    )
    return tmp_path


def test_ids_are_mapped_and_side_information_is_lined_up(folder):
    ratings = read_movielens(folder)
    assert len(ratings.observations) == 10 * CLIENTS
    assert ratings.observations.Z.shape == (CLIENTS, 4)
    assert ratings.columns == ("one", "age", "gender_M", "occupation_doctor")
    table = pd.read_csv(folder / "u.data", sep="\t", header=None)
    line = table.iloc[17]
    client = list(ratings.clients).index(str(int(line[0])))
    item = list(ratings.items).index(f"Film é {int(line[1])} (1995)")
    seen = ratings.observations
    place = np.flatnonzero((seen.items == item) & (seen.clients == client))
    assert ratings.mean + seen.values[place[0]] == pytest.approx(line[2])


def test_side_information_helps_on_held_out_ratings(folder):
    training, test = read_movielens(folder).split(0.2, rng=0)
    error = imc.least_squares(training.observations).score(test, measure="rmse")
    means = {of: test.rmse(test.mean_predictions(training, of)) for of in ("item", "client")}
    without = imc.least_squares(training.observations.without_side_information())
    assert error < 0.35
    assert error < 0.7 * min(means.values())
    plain = replace_observations(test)
    assert error < 0.7 * without.score(plain, measure="rmse")


def replace_observations(ratings):
    """Return the ratings without side information."""
    return Ratings(
        ratings.observations.without_side_information(), ratings.mean, ratings.clients,
        ratings.items,
    )  # fmt: skip


def test_federated_averaging_runs_on_ratings(folder):
    training, test = read_movielens(folder).split(0.2, rng=0)
    trace = lr.perfedsi(
        training.observations, k=3, step_size=0.03, rounds=4000, participants=10, record=4000, rng=0
    )
    error = test.rmse(test.predict(trace.state["U"], trace.state["V"]))
    assert error < min(test.rmse(test.mean_predictions(training, of)) for of in ("item", "client"))


def test_means_are_those_of_the_training_ratings():
    frame = pd.DataFrame(
        {"client": ["a", "a", "b", "c"], "item": [1, 2, 1, 3], "value": [1.0, 2.0, 5.0, 4.0]}
    )
    ratings = Ratings.from_frame(frame)
    training = Ratings(
        ratings.observations._where(np.array([True, True, True, False])), ratings.mean,
        ratings.clients, ratings.items,
    )  # fmt: skip
    overall = (1.0 + 2.0 + 5.0) / 3.0
    np.testing.assert_allclose(ratings.mean_predictions(training, "item"), [3, 2, 3, overall])
    np.testing.assert_allclose(
        ratings.mean_predictions(training, "client"), [1.5, 1.5, 5.0, overall]
    )


def test_columns_that_others_explain_are_left_out():
    side = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [2.0, 4.0, 8.0], "c": [1, 1, 1]})
    assert list(encode(side).columns) == ["one", "a"]


FRAME = pd.DataFrame({"client": [1, 2], "item": [5, 6], "value": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("change", "side", "words"),
    [
        ({"value": [1.0, "good"]}, None, "row 1 has 'good'"),
        ({"client": [1, 1], "item": [5, 5]}, None, "client 1 rated item 5 twice"),
        ({}, pd.DataFrame({"age": [3.0]}, index=[1]), "client 2 has no row of side information"),
        ({}, pd.DataFrame({"age": [3.0, 4, 5]}, index=[1, 2, 2]), "client 2 has several rows"),
        ({}, pd.DataFrame({"age": [3.0, None]}, index=[1, 2]), "client 2 has no value of age"),
        ({}, pd.DataFrame({"age": [3.0, np.inf]}, index=[1, 2]), "must be finite, age is not"),
    ],
)
def test_bad_tables_get_one_clear_line(change, side, words):
    with pytest.raises(ValueError, match=words):
        Ratings.from_frame(FRAME.assign(**change), side)


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="ratings must have a column 'value'"):
        Ratings.from_frame(FRAME.rename(columns={"value": "stars"}))
    assert len(Ratings.from_frame(FRAME.rename(columns={"value": "s"}), value="s").items) == 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("u.data", "1\t99\t3\t0\n", "item 99 is not in"),
        ("u.data", "1\t2\tmany\t0\n", "row 0 has 'many'"),
        ("u.data", "1\t2\n", "must have 4 columns or more, it has 2"),
        ("u.data", "", "cannot be read"),
        ("u.data", "777\t2\t3\t0\n", "client 777 has no row of side information"),
        ("u.user", "1|old|F|artist|0\n", "must have numbers for age, got 'old'"),
    ],
)
def test_bad_files_get_one_clear_line(folder, name, text, words):
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=words):
        read_movielens(folder)


def test_a_missing_file_is_named(folder):
    (folder / "u.item").unlink()
    with pytest.raises(ValueError, match=r"there is no file .*u\.item"):
        read_movielens(folder)
