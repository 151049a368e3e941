"""The benchmark of simulated batches, in miniature."""

import numpy as np
import pytest

from linrep.bench.gram import bench_gram, bench_scaling, bench_threads


def test_bench_gram_compares_all_contenders():
    table = bench_gram([(12, 8)], n=20, repetitions=2)
    columns = ["simulated", "sampled", "numpy", "draws", "sampled_ratio", "numpy_ratio"]
    assert (table[columns] > 0).all(axis=None)


@pytest.mark.slow
def test_bench_scaling_takes_any_size():
    table = bench_scaling([(10, 10**9, 10**6)], repetitions=2)
    assert np.isfinite(table["simulated"]).all()


def test_bench_threads_times_every_number_of_threads():
    times = bench_threads(n=50, threads=(1, 2), rounds=2, repetitions=2)
    assert set(times) == {1, 2}
    assert all((values > 0).all() for values in times.values())
