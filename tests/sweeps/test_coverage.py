"""Sets of replicates."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from linrep.sweeps.coverage import Coverage, Segment

segments = st.builds(
    lambda cell, start, length: Segment(cell, start, start + length),
    st.sampled_from("ab"),
    st.integers(0, 20),
    st.integers(1, 8),
)


def members(pieces):
    return [(piece.cell, i) for piece in pieces for i in range(piece.start, piece.stop)]


@given(st.lists(segments, max_size=8), segments, st.integers(1, 25))
def test_coverage_is_a_set_of_replicates(added, asked, replicates):
    covered, model = Coverage(), set()
    for segment in added:
        covered.add(segment)
        model |= set(members([segment]))
    missing = list(covered.missing(asked))
    assert members(missing) == [pair for pair in members([asked]) if pair not in model]
    within = list(covered.within(asked.cell, replicates))
    assert members(within) == sorted(
        pair for pair in model if pair[0] == asked.cell and pair[1] < replicates
    )
    for pieces in (missing, within):  # as few pieces as possible, none of them empty
        assert all(len(piece) > 0 for piece in pieces)
        assert all(one.stop < other.start for one, other in pairwise(pieces))
