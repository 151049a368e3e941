"""Claims of FLUTE."""
