"""What `make bench` records: times per round or replicate, and the machine they were taken on."""

import os
from datetime import UTC, datetime
from importlib.metadata import version

import pytest

from linrep._lib.provenance import commit, surroundings


def pytest_configure(config):
    config.load_before = os.getloadavg()[0]


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(config, output_json):
    """Keep of pytest-benchmark's record what the page on performance shows."""
    around = surroundings(libraries=("numpy", "scipy", "numba"))
    versions = around["versions"] | {name: version(name) for name in ("jax", "pytest-benchmark")}
    record = {
        "machine": {
            "processor": around["processor"],
            "cores": os.cpu_count(),
            "instructions": around["instructions"],
            "BLAS": ", ".join(sorted({f"{x['name']} {x['version']}" for x in around["BLAS"]})),
            "load before": round(config.load_before, 2),
            "load after": round(os.getloadavg()[0], 2),
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": commit(),
        },
        "versions": {
            name: versions[name]
            for name in ("python", "numpy", "scipy", "numba", "jax", "pytest-benchmark")
        },
        "times": [
            {name: each["extra_info"][name] for name in ("bench", "size", "contender")}
            | {
                name: float(f"{each['stats'][name] / each['extra_info']['units']:.4g}")
                for name in ("median", "iqr")
            }
            for each in output_json["benchmarks"]
        ],
    }
    output_json.clear()
    output_json.update(record)
