"""Errors of completion on a file of ratings, by the share that is learned from.

    python ratings_study.py FILE ROWS.csv [SPLITS]

FILE has a user, an item and a rating in each line; `linrep.read_ratings` says what is read.
"""

import sys

import pandas as pd

import linrep as lr

imc = lr.algorithms.imc
SOLVERS = {
    "biases": imc.biases_only,
    "alternating minimization": lambda seen: imc.alternating(seen, 2),
    "Gauss-Newton": lambda seen: imc.gauss_newton(seen, 2),
    "balanced gradient": lambda seen: imc.balanced_gradient(seen, 2),
    "PerFedSI": lambda seen: lr.perfedsi(seen, k=2, rounds=5000, record=1000, rng=0),
}
HELD_OUT = (0.9, 0.8, 0.6, 0.4, 0.2, 0.1)


def study(path, splits=3):
    """Return a row per share held out, split and solver."""
    ratings = lr.read_ratings(path)
    rows = []
    for held_out in HELD_OUT:
        for split in range(splits):
            training, test = ratings.split(held_out, rng=split)
            for name, solve in SOLVERS.items():
                trace = solve(training.observations)
                rows.append({
                    "held_out": held_out,
                    "split": split,
                    "solver": name,
                    "ratings": len(training.observations),
                    "ridge": trace.settings.get("ridge"),
                    "rmse": trace.score(test, measure="rmse"),
                    "seconds": trace.wall_time,
                })  # fmt: skip
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    given, target, *more = sys.argv[1:]
    study(given, *map(int, more)).to_csv(target, index=False, float_format="%.5g")
