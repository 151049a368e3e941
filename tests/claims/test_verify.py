"""What a stored result depends on."""

import pytest

from linrep.claims import verify


def test_an_edit_of_any_file_beside_a_claims_own_is_another_state(tmp_path, monkeypatch):
    """Claims of a paper import from each other's files, whatever their names."""
    own = tmp_path / "own.py"
    own.write_text("x = 1")
    monkeypatch.setattr(verify.inspect, "getsourcefile", lambda check: str(own))
    place = verify._directory("fedrep.lemma1", "quick", 0, tmp_path)
    for name in ("_shared.py", "sibling.py"):
        (tmp_path / name).write_text("y = 1")
        before, place = place, verify._directory("fedrep.lemma1", "quick", 0, tmp_path)
        assert place != before
    assert verify._directory("fedrep.lemma1", "quick", 0, tmp_path) == place


def test_a_run_that_ended_before_it_began_is_begun_again(tmp_path):
    place = verify._directory("fedrep.lemma1", "quick", 0, tmp_path)
    place.mkdir(parents=True)
    assert verify._place(place) == (place, None)
    (place / "sweep.json").write_text("{")  # damaged is something else
    with pytest.raises(ValueError, match=r"sweep\.json"):
        verify._place(place)
