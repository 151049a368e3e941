"""What the tests of several statistics use."""

from hypothesis import strategies as st

from tests.tools import COMPILED

levels = st.floats(0.05, 0.99)
RUNS = 4_000 if COMPILED else 400
