"""Files of public data sets, in miniature, read as the page on data says, and fitted."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

import scipy.io
import scipy.sparse

import linrep
from linrep.estimators import FederatedRegressor, MatrixCompletion

pytestmark = pytest.mark.compiled

PAGE = (Path(linrep.__file__).parents[1] / "docs" / "data.md").read_text("utf-8")
#: The code that the page has for a layout, by its name.
CODE = dict(re.findall(r"^- \*\*(.+?)\*\*.*?: `(.+)`$", PAGE, re.MULTILINE))
#: Ids that are easily changed or cut: 7 is not 007, and what is inside quotes separates nothing.
TEXTS = ["7", "007", "Zoë", "Zoè", "O'Hara, Scarlett", "two\nlines", "NA", "c;d"]
LATIN = ["Zoë", "Zoè", "Amélie", "Andre", "André", "Jose", "José", "And then…"]
TOKENS = ["7", "007", "07", "a", "b", "c", "d", "e"]
ISBN = ["0001384198", "000138419X", "1384198", "0195153448"]
NUMBERS = list(range(1, 9))


def ratings(users=NUMBERS, items=NUMBERS[:4], names=("user", "item", "rating", "time")):
    """Return nearly all ratings of items, in a mixed order, which are levels of either side."""
    place = np.random.default_rng(0).permutation(len(users) * len(items))[:-2]
    user, item = np.divmod(place, len(items))
    columns = np.array(users)[user], np.array(items)[item], 1 + user % 3 + item % 3
    return pd.DataFrame(dict(zip(names, (*columns, 978300760 + place), strict=True)))


#: By layout: the ratings, and how they are written.
TABLES = {
    "MovieLens 100K": (ratings(), {"sep": "\t", "header": False, "index": False}),
    "MovieLens latest": (
        ratings(names=("userId", "movieId", "rating", "timestamp")), {"index": False}
    ),
    "RecBole": (
        ratings(TOKENS, TOKENS[:4], ("user_id:token", "item_id:token", "rating:float", "time")),
        {"sep": "\t", "index": False,
         "columns": ["item_id:token", "user_id:token", "rating:float"]},
    ),
    "Amazon": (
        ratings(TOKENS, ISBN),
        {"header": False, "index": False, "columns": ["item", "user", "rating", "time"]},
    ),
    "Book-Crossing": (
        ratings(LATIN[:7], ISBN, ("User-ID", "ISBN", "Book-Rating", "time")),
        {"sep": ";", "encoding": "latin-1", "quoting": 1, "index": False,
         "columns": ["User-ID", "ISBN", "Book-Rating"]},
    ),
    "An index of pandas": (
        ratings(names=("uid", "iid", "r", "time")), {"columns": ["uid", "iid", "r"]}
    ),
    "Texts in quotes": (
        ratings(TEXTS, TEXTS[:4], ("user", "book", "stars", "time")),
        {"index": False, "columns": ["time", "user", "book", "stars"]},
    ),
    "Windows": (
        ratings(LATIN, ISBN).assign(rating=lambda table: table["rating"] / 2),
        {"sep": ";", "decimal": ",", "encoding": "cp1252", "index": False},
    ),
    "Excel's Unicode text, zipped": (
        ratings(TEXTS, NUMBERS[:4]),
        {"sep": "\t", "encoding": "utf-16", "compression": "gzip", "index": False},
    ),
}  # fmt: skip


def double_colons(path):
    text = ratings().to_csv(None, sep="\t", header=False, index=False)
    path.write_text(text.replace("\t", "::"), "utf-8")
    return ratings()


def entries(path):
    table = ratings(range(8), range(4))
    places = table["user"], table["item"]
    scipy.io.mmwrite(path, scipy.sparse.coo_array((table["rating"], places), shape=(8, 4)))
    return table


def wide(path):
    table = ratings(TOKENS, ISBN)
    table.pivot(index="user", columns="item", values="rating").to_csv(path)
    return table


def table_of(name):
    """Return what writes a table of ratings in a layout."""
    table, settings = TABLES[name]

    def write(path):
        table.to_csv(path, **settings)
        return table

    return write


WRITERS = {name: table_of(name) for name in TABLES} | {
    "MovieLens 1M": double_colons, "MatrixMarket": entries, "A matrix": wide,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_ratings_are_read_as_they_were_written_and_fitted(name, tmp_path):
    path = tmp_path / "file.mtx"
    written = WRITERS[name](path)
    client, item, rating = written.columns[:3]
    read = eval(CODE[name], {"pd": pd, "scipy": scipy, "path": path})
    key = [client, item, rating]
    expected = sorted(written[key].itertuples(index=False, name=None), key=str)
    assert sorted(read[key].itertuples(index=False, name=None), key=str) == expected
    X, y = read[[client, item]], read[rating]
    model = MatrixCompletion(rank=1, client=client, item=item).fit(X, y)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9


def test_titles_of_films_are_whole(tmp_path):
    """Also where a character of theirs ends a line elsewhere."""
    path = tmp_path / "u.item"
    titles = ["And then… (1995)", "Amélie (2001)", "Léon: The Professional (1994)", "x, y (1999)"]
    films = pd.DataFrame({"title": titles, "drama": [1, 0, 1, 0]}, index=NUMBERS[:4])
    films.to_csv(path, sep="|", encoding="cp1252", header=False)
    read = eval(CODE["Films of MovieLens 100K"], {"pd": pd, "path": path})
    assert read[1].tolist() == titles
    X = ratings()
    model = MatrixCompletion(rank=1, item_features=read[[2]])
    assert np.isfinite(
        model.fit(X[["user", "item"]], X["rating"]).predict(X[["user", "item"]])
    ).all()


def test_cells_of_matlab_are_tasks(tmp_path):
    rng = np.random.default_rng(0)
    path, w = tmp_path / "school.mat", rng.standard_normal(3)
    cells = np.empty((2, 1, 5), dtype=object)
    for task in range(5):
        X = rng.standard_normal((6 + task, 3))
        cells[:, 0, task] = X, (X @ w + task)[:, None]
    scipy.io.savemat(path, {"X": cells[0], "Y": cells[1]})
    read = eval(CODE["Cells of MATLAB"], {"pd": pd, "mat": scipy.io.loadmat(path)})
    assert read["task"].value_counts(sort=False).tolist() == [6, 7, 8, 9, 10]
    X, y = read.drop(columns="y"), read["y"]
    assert FederatedRegressor(client="task").fit(X, y).score(X, y) > 0.99


def test_a_missing_rating_is_refused():
    table = ratings().astype({"rating": float})
    table.loc[0, "rating"] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        MatrixCompletion().fit(table[["user", "item"]], table["rating"])
