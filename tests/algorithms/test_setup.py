import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linrep._lib.validation import count_participants
from tests.tools import complaint


@given(st.integers(1, 10_000), st.floats(0.0, 1.0, exclude_min=True))
def test_participants_are_the_nearest_whole_number(n, participation):
    if participation * n < 0.5:
        with complaint(ValueError, "participation", f"none of {n} clients"):
            count_participants(n, participation)
    else:
        participants = count_participants(n, participation)
        assert 1 <= participants <= n
        assert abs(participants - participation * n) <= 0.5


def test_halves_are_rounded_up():
    assert [count_participants(10, share) for share in (0.05, 0.15, 0.25, 1)] == [1, 2, 3, 10]
    assert count_participants(3, np.float64(0.5)) == 2
