"""Times of linrep, NumPy and JAX, one contender after another: run by `make bench` alone."""

import pytest

from tests.bench import BENCHES
from tests.bench.support import assert_agrees

CASES = [
    pytest.param(module, size, name, id=f"{key}-{place}-{name}")
    for key, module in BENCHES.items()
    for place, size in enumerate(module.SIZES)
    for name in module.bench(**module.SIZES[0]).names
]


@pytest.mark.parametrize(("module", "size", "contender"), CASES)
def test_speed(benchmark, module, size, contender):
    bench = module.bench(**size)
    call = bench.contender(contender)
    # The law of others' numbers takes many runs: they are compared where these are short.
    if contender not in bench.own_numbers or size is module.SIZES[0]:
        assert_agrees(bench, contender, call)
    benchmark.group = f"{module.TITLE}, {bench.size}"
    benchmark.extra_info = {
        "bench": module.TITLE, "size": bench.size, "contender": contender, "units": bench.units,
    }  # fmt: skip
    benchmark(call)
