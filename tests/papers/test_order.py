"""Claims in the order of the papers."""

from dataclasses import replace

import pytest

from linrep.claims import claims
from linrep.claims.contents import in_order, position


def test_the_place_of_every_claim_is_found_in_its_paper():
    nowhere = replace(claims()["fedrep.lemma1"], place="a letter")
    assert position(nowhere) > max(position(item) for item in claims().values())
    lost = [i.id for i in claims().values() if position(i) == position(replace(i, place="–"))]
    assert lost == []


@pytest.mark.parametrize(
    "expected",
    [
        "fedrep.section2.1.ours fedrep.heads_gd fedrep.theorem1 fedrep.eq12 fedrep.figure4 "
        "fedrep.lemma1 fedrep.lemma5 fedrep.lemma5.eq50 fedrep.lemma5.union fedrep.lemma6",
        "flute.theorem5.1 flute.theorem5.5 flute.lemmaA4 flute.eq19 flute.lemmaA10 flute.nc",
        "perfedsi.remark2.1 perfedsi.theorem3.3 perfedsi.theoremC4 perfedsi.lemmaC10",
        "pflmf.example2 pflmf.figure1 pflmf.example3 pflmf.theorem1 pflmf.eq16 pflmf.lemma3",
    ],
)
def test_claims_follow_the_paper(expected):
    names = expected.split()
    items = [claims()[name] for name in reversed(names)]
    assert [item.id for item in in_order(items)] == names


def test_a_corrected_statement_follows_the_printed_one():
    names = [item.id for item in in_order(claims().values())]
    for item in claims().values():
        if item.corrects:
            between = names[names.index(item.corrects) + 1 : names.index(item.id)]
            assert all(claims()[name].corrects == item.corrects for name in between)


def test_claims_of_a_paper_of_ones_own_stay_as_they_come():
    own = [replace(claims()["fedrep.lemma1"], id=f"mine.{i}") for i in (1, 2)]
    assert in_order(own) == own
