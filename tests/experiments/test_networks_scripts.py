"""Scripts of networks: their sizes, and the alphabets of PerFedSI's Figure 1."""

import importlib.util
from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep._lib import scripts  # noqa: E402
from linrep.deep.data import Dataset  # noqa: E402
from linrep.figures import computing, experiment  # noqa: E402

NETWORKS = [name for name in experiment.available() if name.startswith("deep.")]
SCALED = [name for name in NETWORKS if name != "deep.digits"]


def test_rounds_and_replicates_are_options():
    for name in NETWORKS:
        item = experiment.load(name).with_sizes({"rounds": 3, "replicates": 2})
        sweep = computing.sweep_of(item)
        assert sweep.replicates == 2, name
        assert item.sizes_at().rounds == 3, name
        assert {cell["rounds"] for cell in sweep.grid if "rounds" in cell} <= {3}, name


@pytest.mark.parametrize("name", SCALED)
def test_there_is_a_size_between_quick_and_days(name):
    item = experiment.load(name)
    plain = [dict(cell) for cell in item.at().cells(False)]
    scales = {
        scale: [dict(cell) for cell in item.with_sizes({"scale": scale}).at().cells(False)]
        for scale in ("small", "paper")
    }
    assert plain == [*scales["small"], *scales["paper"]]
    assert {cell["data"] for cell in plain} <= {*item.data}


@pytest.mark.parametrize("alphabets", [8, 30, 50])
def test_as_many_clients_of_an_alphabet_as_in_the_paper_however_many_alphabets(
    alphabets, monkeypatch
):
    path = scripts.folder() / "deep_perfedsi_figure1.py"
    spec = importlib.util.spec_from_file_location("figure1", path)
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(importlib.sys.modules, "figure1", script)
    spec.loader.exec_module(script)
    label = np.repeat(np.arange(3 * alphabets), 20)  # three characters, twenty drawings of each
    omniglot = Dataset(np.zeros((label.size, 1, 2, 2), np.uint8), label, owner=label // 3)
    monkeypatch.setattr(script.deep, "load", lambda name, rng: omniglot)
    for clients, (train, test) in script.SAMPLES.items():
        data = script.alphabets({"data": "omniglot", "per_alphabet": clients}, seed=0)
        assert Counter(data.groups.tolist()) == dict.fromkeys(range(alphabets), clients)
        assert {len(part) for part in data.train} == {3 * train}
        assert {len(part) for part in data.test} == {3 * test}
