"""What is timed comes to NumPy's numbers, and all of it is recorded."""

import json
from pathlib import Path

import pytest

from tests.bench import BENCHES
from tests.bench.support import assert_agrees

RECORD = Path(__file__).parents[2] / "docs" / "performance.json"


@pytest.mark.parametrize("name", BENCHES)
def test_linrep_and_numpy_agree(name):
    bench = BENCHES[name].bench(**BENCHES[name].SIZES[0])
    for contender, call in bench.linrep.items():
        assert_agrees(bench, contender, call)


def test_every_contender_of_every_size_is_recorded():
    recorded = [
        (time["bench"], time["size"], time["contender"])
        for time in json.loads(RECORD.read_text("utf-8"))["times"]
    ]
    sizes = [
        (module.TITLE, module.bench(**size)) for module in BENCHES.values() for size in module.SIZES
    ]
    assert recorded == [(title, each.size, name) for title, each in sizes for name in each.names]
