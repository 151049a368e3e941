"""Evidence as it is stored, and what a stored result depends on."""

import numpy as np
import pandas as pd
import pytest

from linrep.claims import Evidence, combine, verify
from linrep.claims.verify import from_json, to_json


def test_evidence_survives_storage():
    points = pd.DataFrame(
        {"panel": "p", "x": [1.0, 2.0], "y": [1e-30, np.nan], "series": ["", None]}
    )
    part = Evidence(
        "fails", "no", measured=np.float64(1e-300), predicted=np.inf, interval=(0.0, np.inf),
        n_trials=3, level=1e-5, counterexample={"x": np.arange(2), "n": np.int64(7)}, name="part",
        points=points,
    )  # fmt: skip
    found = combine([part, Evidence("holds", "yes", 1.0, 2.0, name="other")])
    again = from_json(to_json(found))
    assert again.parts[0].counterexample == {"x": [0, 1], "n": 7}
    assert (again.measured, again.predicted, again.interval) == (1e-300, np.inf, (0.0, np.inf))
    assert again.parts[1] == found.parts[1]
    pd.testing.assert_frame_equal(again.points, found.points)
    assert to_json(again) == to_json(found)


def test_evidence_of_other_things_is_refused():
    with pytest.raises(TypeError, match="holds a set"):
        to_json(Evidence("fails", "no", counterexample={"x": {1}}))


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
