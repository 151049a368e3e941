"""Every derivation has a test of its steps, and every proved verdict a derivation."""

from importlib import import_module

import pytest

from linrep.claims import FAILS, claims, ledger
from linrep.claims.proofs import PATHS, proofs
from linrep.claims.sections import sections

SECTIONS = [(path.parent.name, item) for path in PATHS for item in sections(path)]


@pytest.mark.parametrize(("paper", "section"), SECTIONS, ids=lambda item: str(item[0]))
def test_a_derivation_is_tested(paper, section):
    tests = import_module(f"tests.claims.{paper}.test_proofs")
    known = claims()
    for name in section.ids:
        assert known[name].paper == paper
    first = section.ids[0].partition(".")[2]
    assert hasattr(tests, "test_" + first.replace(".", "_").replace("-", "_").lower())


def test_what_is_proved_has_a_derivation():
    recorded = ledger.recorded().items()
    proved = {name for name, entry in recorded if entry.get("strength") == "proved"}
    fails = {name for name, entry in recorded if entry["verdict"] == FAILS}  # its finding has it
    assert proved - fails <= set(proofs())
