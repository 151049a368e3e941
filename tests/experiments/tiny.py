"""Other sizes than the default, small ones, of every figure of synthetic data."""

#: By id: sizes, of which the picture shows several where it can.
TINY = {
    "fedrep.figure1": {"n": 8, "m": (3, 6), "d": 5, "k": 3, "rounds": 6},
    "fedrep.figure3": {"n": (10, 25), "d": 5, "k": 1, "m": 4, "rounds": 7},
    "fedrep.figure4": {
        "n": 8, "m": 6, "d": 5, "k": 3, "rounds": 6, "m_new": (3, 9), "new": 4,
    },
    "fedrep.figure7": {"n": (7, 9), "m": (4, 5, 8), "d": 5, "k": 3, "rounds": 9},
    "fedrep.learning_curves": {"n": 400, "rounds": 4, "curve": 8},
    "fedrep.rates": {
        "n": (40, 60), "d": (30, 60), "m": (5, 8), "k": (1, 3), "condition": (1.0, 2.0),
        "participation": (0.25, 1.0), "step": (0.1, 0.2), "rounds": 8,
    },
    "fedrep.sample_size": {"d": (8, 16), "n": 5, "m": (2, 3), "k": 1, "rounds": 5},
    "fedrep.scaling": {
        "d": (200, 300), "n": (10, 20), "k": (1, 3), "condition": 2.5, "one_d": 400,
        "one_n": 20, "multiple": (0.2, 0.5), "rounds": 4,
    },
    "flute.figure1": {"n": 6, "m": (5, 8), "k": (1, 3), "d": 4, "epochs": 12},
    "flute.figure3": {"n": (5, 7), "m": 6, "k": 2, "d": 4, "epochs": 12},
    "flute.figure4": {"m": 5, "n": 6, "d": 4, "k": 2, "epochs": 15},
    "flute.rates": {
        "n": (12, 15), "d": 12, "k": (2, 4), "rank": (5, 8), "condition": (1.0, 3.0),
        "gap": (0.4, 0.6), "step": (0.3, 0.5), "regularizer": (0.1, 2.0), "m": (200, 400),
    },
    "flute.sample_size": {"n": (8, 12), "d": 8, "k": 1, "rank": (3, 4), "m": (16, 64)},
    "literature.estimators": {
        "m": (5, 20), "n": (10, 200), "d": 40, "k": 3, "condition": 1.0, "noise": 0.5,
    },
    "perfedsi.figure3": {"n": 9, "d": 7, "p": 3, "k": 1, "per_client": 4, "rounds": 50},
    "perfedsi.federated": {
        "n": 10, "p": 3, "k": 1, "entries": (40, 60), "local_entries": 50, "local_steps": 3,
        "participants": 2, "rounds": 200, "local_rounds": 300,
    },
    "perfedsi.phase": {
        "n": 12, "p": (4, 12), "rho": (1.0, 2.0), "k": 1, "hidden": 3, "condition_p": 4,
        "condition": (1.0, 5.0), "condition_rho": 2.0, "rounds": 300,
    },
    "perfedsi.rates": {
        "n": 6, "step": (0.05, 0.15), "tau": (1, 3), "C": (1, 3), "d": (5, 6), "p": (4, 6),
        "k": (1, 3), "condition": (1.0, 1.5), "runs": 4,
    },
    "pflmf.algorithm1": {"p": 0.5, "T": 1000},
    "pflmf.figure1": {"shift": (0.0, 1.0, 4.0), "n": 5, "deltas": 3, "rounds": 300},
    "pflmf.rates": {
        "n": (6, 9), "d": (5, 7), "k": (1, 3), "K": (2, 3), "p": (0.25, 1.0), "step": (0.2, 0.6),
        "condition": 3.0, "tail": (0.0, 0.3),
    },
    "pflmf.rounds": {"n": (8, 12), "K": 2, "p": (1.0, 0.6)},
    "pflmf.stationarity": {"p": (1.0, 0.5), "K": 2, "T": 40, "n": 6, "d": 2},
    "pflmf.clusters": {
        "m": (3, 6), "m_labels": (4, 8), "n": 6, "d": 4, "groups": 2, "classes": 3,
    },
    "theorems.asked": {"goal": 0.3, "gradients": 0.1, "start": 0.6, "ranks": 3, "p": (1.0, 0.4)},
}  # fmt: skip
