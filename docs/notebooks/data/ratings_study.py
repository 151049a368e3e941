"""Errors of completion on a file of ratings, by the share that is learned from.

    python ratings_study.py FILE ROWS.csv

FILE has a user, an item and a rating in each line, separated by white space.
"""

import sys
import time

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, train_test_split

from linrep.estimators import MatrixCompletion

HELD_OUT, SPLITS = (0.9, 0.8, 0.6, 0.4, 0.2, 0.1), 5
METHODS = {
    "biases": MatrixCompletion(rank=0),
    "rank 2": MatrixCompletion(rank=2),
    "rank 10": MatrixCompletion(rank=10),
    "chosen": GridSearchCV(
        MatrixCompletion(), [{"rank": [0]}, {"rank": [2, 10], "ridge": [5.0, 10.0, 20.0]}], cv=3
    ),
}  # fmt: skip


def study(path):
    """Return a row per share held out, split and method."""
    table = pd.read_csv(path, sep=r"\s+", names=["user", "film", "stars"])
    X, stars = table[["user", "film"]], table["stars"]
    rows = []
    for held_out in HELD_OUT:
        for split in range(SPLITS):
            seen, rest = train_test_split(X.index, test_size=held_out, random_state=split)
            for name, method in METHODS.items():
                begun = time.process_time()
                method.fit(X.loc[seen], stars[seen])
                seconds = time.process_time() - begun
                best = getattr(method, "best_estimator_", method)
                error = np.sqrt(np.mean((method.predict(X.loc[rest]) - stars[rest]) ** 2))
                rows.append({
                    "held_out": held_out, "split": split, "method": name, "ratings": len(seen),
                    "rank": best.rank, "ridge": best.ridge, "rmse": error, "seconds": seconds,
                })  # fmt: skip
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    file, target = sys.argv[1:]
    study(file).to_csv(target, index=False, float_format="%.5g")
