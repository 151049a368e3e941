"""The benchmark of sweeps, in miniature."""

import numpy as np

from linrep.bench.sweeps import bench_sweeps, measure


def test_bench_sweeps_measures_a_small_sweep():
    result = bench_sweeps(200)
    assert result["replicates"] == 200
    assert result["parts"] >= 1
    assert result["bytes"] > 200 * 8
    assert all(np.isfinite(result[name]) for name in ("overhead", "read"))


def test_overhead_and_reading_are_told():
    overhead, read = (records[0] for records in measure(200))
    assert "memory grew" in overhead.note
    assert "parts" in read.note
    assert read.seconds > 0.0
