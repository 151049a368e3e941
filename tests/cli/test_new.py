"""linrep new."""

from pathlib import Path

from linrep.cli.new import CLAIM
from tests.cli.support import call

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


def test_the_new_claim_is_short_and_checked_as_it_stands(folder):
    assert "linrep verify my_claims.py" in call("new", "claim")
    assert len(Path("my_claims.py").read_text().splitlines()) <= 12
    output = call("verify", "my_claims.py")
    assert "1 claim holds" in output
    assert "rejected" in output


def test_it_is_the_first_one_of_the_page():
    assert f"```python\n# my_claims.py\n{CLAIM}```" in PAGE.read_text("utf-8")
