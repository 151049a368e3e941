"""The paper side by side: every statement stands in the contents, and all that stands is one."""

import tomllib
from pathlib import Path

import linrep.papers.fedrep
from linrep.claims import claims

PATH = Path(linrep.papers.fedrep.__file__).with_name("contents.toml")
ITEMS = tomllib.loads(PATH.read_text("utf-8"))["item"]


def test_each_item_has_claims_or_a_reason_and_every_claim_occurs():
    assert [item for item in ITEMS if ("claims" in item) == ("reason" in item)] == []
    named = [name for item in ITEMS for name in item.get("claims", ())]
    assert set(named) == set(claims(["fedrep"]))
