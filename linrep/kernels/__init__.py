"""Numba functions on arrays: no objects, results written into the caller's arrays, GIL released."""
