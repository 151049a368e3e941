"""Files of ratings: separators, headers, duplicates, held-out files, MovieLens' layouts."""

import warnings

import numpy as np
import pandas as pd
import pytest

import linrep as lr
from linrep.algorithms import imc

TRIPLES = [(1, 10, 4.0), (1, 20, 2.5), (2, 10, 5.0), (10, 30, 1.0)]


def write(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def pairs(ratings):
    seen = ratings.observations
    return set(zip(ratings.clients[seen.clients], ratings.items[seen.items], strict=True))


@pytest.mark.parametrize("separator", ["\t", ",", ";", " ", "::", "|"])
@pytest.mark.parametrize(
    "header", [None, "userId,movieId,rating", "user,item,score", "a,b,c", "rating,userId,movieId"]
)
def test_triples_are_read(tmp_path, separator, header):
    rows = [(*row, 123) for row in TRIPLES]
    if header is not None:
        header += ",timestamp"
    if header is not None and header.startswith("rating"):
        rows = [(value, client, item, time) for client, item, value, time in rows]
    lines = [separator.join(map(str, row)) for row in rows]
    if header is not None:
        lines.insert(0, header.replace(",", separator))
    ratings = lr.read_ratings(write(tmp_path / "file", lines))
    seen = ratings.observations
    assert list(ratings.clients) == [1, 2, 10]  # as numbers, not as texts
    assert list(ratings.items) == [10, 20, 30]
    found = zip(
        ratings.clients[seen.clients], ratings.items[seen.items], ratings.mean + seen.values,
        strict=True,
    )  # fmt: skip
    assert sorted(found) == TRIPLES


def test_quoted_texts_are_ids(tmp_path):
    lines = ["user,item,rating", 'ada,"A, the film",3', 'bob,"B",4']
    ratings = lr.read_ratings(write(tmp_path / "file.csv", lines))
    assert list(ratings.items) == ["A, the film", "B"]
    assert list(ratings.clients) == ["ada", "bob"]


@pytest.mark.parametrize(("duplicates", "value"), [("mean", 3.0), ("last", 2.0)])
def test_several_ratings_of_a_pair_count_once_with_one_warning(tmp_path, duplicates, value):
    path = write(tmp_path / "file", ["1 1 4", "2 1 5", "1 1 2", "1 2 3", "1 2 3"])
    with pytest.warns(UserWarning, match="2 pairs of a client and an item") as noticed:
        ratings = lr.read_ratings(path, duplicates=duplicates)
    assert len(noticed) == 1
    assert noticed[0].filename == __file__
    assert ratings.mean + ratings.observations.values == pytest.approx([value, 3.0, 5.0])
    with pytest.raises(ValueError, match="client 1 rated item 1 twice"):
        lr.read_ratings(path, duplicates="error")


def table(rng):
    """Return ratings that ages and kinds explain, and both tables."""
    Z = pd.DataFrame({"age": rng.uniform(18, 80, 60)}, index=rng.permutation(60) + 1)
    A = pd.DataFrame(
        rng.standard_normal((40, 2)), index=rng.permutation(40) + 1, columns=["a", "b"]
    )
    standard = ((Z - Z.mean()) / Z.std()).to_numpy()
    whole = pd.DataFrame(
        3 + A.to_numpy() @ rng.standard_normal((2, 1)) @ standard.T, index=A.index, columns=Z.index
    )
    clients, items = np.divmod(rng.choice(59 * 39, 900, replace=False), 39)  # one rated nothing
    values = [whole.loc[i, c] for c, i in zip(clients + 1, items + 1, strict=True)]
    values += 0.3 * rng.standard_normal(900)
    lines = [f"{c} {i} {v}" for c, i, v in zip(clients + 1, items + 1, values, strict=True)]
    return lines, Z, A


@pytest.mark.parametrize("solver", ["alternating", "gauss_newton", "least_squares", "nuclear_norm"])
def test_side_information_on_both_sides_predicts(tmp_path, solver):
    lines, Z, A = table(np.random.default_rng(0))
    path = write(tmp_path / "file", lines)
    options = {} if solver in ("least_squares", "nuclear_norm") else {"k": 1}
    errors, held = [], []
    for sides in ({}, {"side": Z}, {"item_side": A}, {"side": Z, "item_side": A}):
        training, test = lr.read_ratings(path, **sides).split(0.2, rng=0)
        held.append(pairs(test))
        trace = getattr(imc, solver)(training.observations, **options)
        errors.append(trace.score(test, measure="rmse"))
        np.testing.assert_allclose(test.rmse(test.predict(trace)), errors[-1])
    assert held[0] == held[1] == held[2] == held[3]  # the same, with and without
    assert errors[3] < 0.36
    assert errors[3] <= min(errors) * 1.02
    both = lr.read_ratings(path, side=Z, item_side=A)
    assert (both.columns, both.item_columns) == (("one", "age"), ("one", "a", "b"))
    assert both.observations.A.shape == (40, 3)
    assert both.observations.Z.shape == (60, 2)


def test_files_and_tables_hold_out(tmp_path):
    lines = [" ".join(map(str, row)) for row in TRIPLES]
    training, test = lr.read_ratings(
        write(tmp_path / "base", lines[:3]), test=write(tmp_path / "test", lines[3:])
    )
    assert pairs(test) == {(10, 30)}
    assert pairs(training) == {(1, 10), (1, 20), (2, 10)}
    whole = lr.read_ratings(write(tmp_path / "whole", lines))
    asked = pd.DataFrame({"client": [1, 10], "item": [20, 30]})
    assert pairs(whole.split(asked)[1]) == {(1, 20), (10, 30)}
    with pytest.raises(ValueError, match="client 1 did not rate item 30"):
        whole.split(asked.assign(item=[30, 30]))
    with pytest.raises(ValueError, match="leave ratings on both sides"):
        whole.split(asked.iloc[:0])
    with pytest.raises(ValueError, match="client 1's rating of item 10 is to be learned"):
        lr.read_ratings(tmp_path / "base", test=tmp_path / "whole")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["1 2"], "must have 3 columns or more, it has 2"),
        (["1 2 3", "4 5"], "row 1 has 2 columns, the first 3"),
        (["1 2 3", "1 3 good"], "row 1 has 'good'"),
        (["user item rating"], "must hold at least one rating"),
        ([""], "it is empty"),
    ],
)
def test_bad_files_get_one_clear_line(tmp_path, lines, words):
    with pytest.raises(ValueError, match=words):
        lr.read_ratings(write(tmp_path / "file", lines))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*nothing"):
        lr.read_ratings(tmp_path / "nothing")


def hundred_thousand(folder):
    lines = [f"{c}\t{i}\t{v}\t0" for c, i, v in TRIPLES]
    write(folder / "u.data", lines)
    write(folder / "u1.base", lines[:3])
    write(folder / "u1.test", lines[3:])
    write(folder / "u.user", [f"{c}|{20 + c}|F|artist|0" for c in (10, 2, 1)])
    flags = {10: "1" + "|0" * 18, 20: "0|1" + "|0" * 17, 30: "0|0|1" + "|0" * 16}
    write(folder / "u.item", [f"{i}|Film {i}|date||url|{flags[i]}" for i in (30, 20, 10)])


def million(folder):
    write(folder / "ratings.dat", [f"{c}::{i}::{v}::0" for c, i, v in TRIPLES])
    write(folder / "users.dat", [f"{c}::F::{20 + c}::4::0" for c in (1, 2, 10)])
    write(folder / "movies.dat", [f"{i}::Film {i}::{g}" for i, g in
                                  ((10, "War"), (20, "War|Drama"), (30, "Crime"))])  # fmt: skip


def latest(folder):
    lines = [f"{c},{i},{v},0" for c, i, v in TRIPLES]
    write(folder / "ratings.csv", ["userId,movieId,rating,timestamp", *lines])
    films = ["10,Film 10,War", '20,"Film 20",War|Drama', "30,Film 30,Crime"]
    write(folder / "movies.csv", ["movieId,title,genres", *films])


@pytest.mark.parametrize("layout", [hundred_thousand, million, latest])
def test_movielens_layouts(tmp_path, layout):
    layout(tmp_path)
    ratings = lr.read_movielens(tmp_path, item_side=True)
    assert list(ratings.items) == ["Film 10", "Film 20", "Film 30"]
    assert list(ratings.clients) == ["1", "10", "2"]
    assert ratings.columns == (() if layout is latest else ("one", "age"))
    assert len(ratings.item_columns) == 3
    assert ratings.observations.A.shape == (3, 3)
    plain = lr.read_movielens(tmp_path, side=False)
    assert plain.observations.Z is None
    assert pairs(plain.split(0.5, rng=0)[1]) == pairs(ratings.split(0.5, rng=0)[1])
    if layout is not hundred_thousand:
        with pytest.raises(ValueError, match="split must be None"):
            lr.read_movielens(tmp_path, split="u1")


def test_movielens_own_splits(tmp_path):
    hundred_thousand(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        training, test = lr.read_movielens(tmp_path, split="u1", item_side=True)
    assert pairs(test) == {("10", "Film 30")}
    assert len(training.observations) == 3
    assert training.observations.Z.shape == (3, 2)
