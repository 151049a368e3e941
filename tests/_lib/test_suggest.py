"""What is said of a name that there is not."""

import re

import pytest

from linrep._lib.suggest import near, unknown
from linrep._lib.validation import choice


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("verfy", ["verify"]),
        ("Verify", ["verify"]),
        ("replicats", ["replicates"]),
        ("step", ["step_size"]),
        ("xyzzy", []),
        ("", []),
    ],
)
def test_near_names(name, found):
    assert near(name, ["verify", "replicates", "show", "step_size", "n"]) == found


def test_what_begins_with_a_name_comes_first():
    known = ["a.figure7", "a.figure4", "a.figure3.clients", "a.figure3.scaling", "b.figure3"]
    assert near("a.figure3", known)[:2] == ["a.figure3.clients", "a.figure3.scaling"]
    assert near("Figure 3", known) == ["b.figure3", "a.figure3.clients", "a.figure3.scaling"]


def test_a_line_proposes_or_lists():
    assert unknown("no column", "eror", ["error", "n"]) == "no column 'eror'; did you mean error?"
    assert unknown("no column", "q", ["error", "n"]) == "no column 'q'; there are error, n"
    assert unknown("no column", "q", []) == "no column 'q'; there are none"
    said = unknown("no size", "rond", ["rounds"], of="of it", prefix="--")
    assert said == "no size 'rond' of it; did you mean --rounds?"
    assert unknown("no claim", "q", ["a.b"], otherwise="--list") == "no claim 'q'; --list"
    assert unknown("no", "q", map(str, range(40))).endswith("29 and 10 more")


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("fedreb", "; did you mean 'fedrep'?"),
        ("FedRep", "; did you mean 'fedrep'?"),
        ("x", ""),
        (3, ""),
    ],
)
def test_a_choice_that_is_none_says_what_is_near(value, hint):
    said = f"method must be one of 'fedavg', 'fedrep', got {value!r}{hint}"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        choice("method", value, ("fedavg", "fedrep"))
