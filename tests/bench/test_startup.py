"""The benchmark of the start, in miniature."""

import pytest

from linrep.bench import startup


@pytest.mark.slow
def test_fresh_processes_are_timed():
    result = startup.bench_startup(repetitions=1)
    assert min(result["load"], result["first_call"]) > 0.0


def test_times_are_printed_in_units_of_their_own(monkeypatch):
    times = {"import": 0.002, "load": 1.5, "first_call": 0.003}
    monkeypatch.setattr(startup, "bench_startup", lambda: times)
    lines = []
    startup.run_benchmark(lines.append)
    assert "2.0 ms" in lines[1]
    assert "1.50 s" in lines[2]
    assert "3.0 ms" in lines[2]
