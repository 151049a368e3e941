"""Benchmarks: timings next to what else there is, and what sweeping costs."""
