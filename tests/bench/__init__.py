"""Benches: what `make bench` times, and tests that what it times comes to the same numbers."""

from importlib import import_module

#: A module each, whose `SIZES` are arguments of its `bench`, the smallest first.
BENCHES = {
    name: import_module(f"tests.bench.{name}")
    for name in ("fedrep_stored", "fedrep_fresh", "flute", "pflmf", "perfedsi", "sweep")
}
