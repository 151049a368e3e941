"""Claims of one's own, some with a stored run, and a figure; nothing here computes for long."""

import shutil

import pytest
from matplotlib.figure import Figure

from linrep.claims import load_file
from linrep.claims.verify import verify
from linrep.figures.record import KIND
from linrep.report import pictures

CLAIMS = """
import numpy as np
import pandas as pd
from linrep.claims import Constant, Hypothesis, Identity, statement


@statement(
    "mine.bound", place="Theorem 1", latex=r"\\|x\\|_2 \\le c",
    plain="Bounded by x_1 & <b>bold</b> | sigma_min.", negative_control={"growth": 1},
    hypotheses=[Hypothesis("Assumption 1", "a < b & c", lambda problem, participants: True)],
)
def bound(budget, rng, *, growth=-1):
    "Estimate the constant."
    n = np.repeat([1.0, 10.0, 99.0], 100)
    rows = pd.DataFrame({"n": n, "constant": n**growth * rng.uniform(1, 1.1, 300)})
    yield Constant(rows, ["n"])


@statement(
    "mine.wrong", place="my notes", latex="x = 2 x",
    plain="All numbers are twice themselves.", negative_control={"factor": 3},
    holds_with={"factor": 1},
)
def wrong(budget, rng, *, factor=2):
    "Compare both."
    case = {"x": [1.0, np.inf], "A": [[1.0, 2.0], [3.0, 4.0]], "</script><b>": "<i>"}
    yield Identity([(abs(factor - 1), case)], 1e-12)


@statement(
    "mine.wrong.corrected", place="my notes", latex=r"\\nosuchcommand",
    plain="They are themselves.", negative_control={"factor": 3}, corrects="mine.wrong",
)
def right(budget, rng, *, factor=1):
    "Compare both."
    yield Identity([(abs(factor - 1), {})], 1e-12)


@statement(
    "mine.crash", place="my notes", latex="x", plain="Raises.",
    negative_control={"power": 3},
)
def crash(budget, rng, *, power=2):
    "Raise."
    raise RuntimeError("no <such> thing")
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write a file of claims in an empty folder, and go there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_claims.py").write_text(CLAIMS)
    return tmp_path


@pytest.fixture
def known(own):
    """Load the claims."""
    return load_file(own / "own_claims.py")


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Run the claims, all but the corrected one; return their store."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "own_claims.py").write_text(CLAIMS)
    known = load_file(folder / "own_claims.py")
    chosen = [item for name, item in known.items() if not name.endswith("corrected")]
    verify(chosen, store=folder / "store", file=folder / "own_claims.py", progress=False)
    return folder / "store"


@pytest.fixture
def store(own, runs):
    """Return a store that a test may change."""
    return shutil.copytree(runs, own / "store")


@pytest.fixture
def figures(tmp_path):
    return draw_figures(tmp_path)


def leave_undrawn(patch):
    """Put a picture that is drawn nowhere in the place of all that a verdict rests on."""
    patch.setattr(pictures, "evidence", lambda _: pictures.Picture("data:image/png;base64,", 1, 1))


def draw_figures(parent):
    """Make a folder with a figure and a file that is none."""
    folder = parent / "pictures"
    folder.mkdir()
    figure = Figure(figsize=(7.0, 6.0))
    figure.subplots().plot([1, 2], [3, 4])
    figure.savefig(folder / "mine.figure.svg")
    manifest = {
        "id": "mine.figure",
        "title": "Noise & nothing",
        "result": {
            "caption": "Lines with <tags>.",
            "settings": {"quick": True, "seed": 3, "replicates": 2, "cells": []},
            "rows": {"count": 7, "sha256": "0"},
            "summary": {
                "labels": ["n"],
                "lines": [{"n": 1, "value": {"value": 0.5}}, {"n": 2, "value": {"value": None}}],
            },
        },
        "provenance": {
            "mode": "native",
            "processor": "mine",
            "instructions": "mine",
            "BLAS": [],
            "workers": 1,
            "finished": "2026-01-02T03:04:05+00:00",
            "seconds": 1.5,
            "versions": {"linrep": "0", "numpy": "2"},
            "notes": {"the run <hardly> moves": "1 of 2"},
        },
    }
    picture = (folder / "mine.figure.svg").read_bytes()
    KIND.write(folder / "mine.figure.json", manifest, {"mine.figure.svg": picture})
    (folder / "other.json").write_text("[1, 2]")
    return folder
