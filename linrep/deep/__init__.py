"""The papers' deep experiments: a thin layer over torch, which loads only where it is needed."""
