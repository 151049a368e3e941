"""The claims of the page "From a theorem to a claim" get their verdicts, and controls fail."""

import re
from pathlib import Path

import pytest

import linrep
import linrep.claims
from linrep.claims import FAILS, HOLDS, load_file

PAGE = Path(linrep.__file__).parents[1] / "docs" / "theorem-to-claim.md"
CELL = re.compile(r"```\{code-cell\} ipython3\n(.*?)```", re.DOTALL)
VERDICTS = {
    "forms.start": FAILS,
    "forms.start.root": HOLDS,
    "forms.smallest": HOLDS,
    "forms.rounds": HOLDS,
    "forms.sine": HOLDS,
    "forms.estimators": HOLDS,
    "forms.heads": HOLDS,
    "forms.smooth": FAILS,
    "forms.smooth.ball": HOLDS,
}


#: Classes that functions make for a reader, or that others derive from.
MADE = {
    "Claim": r"@statement\(",
    "Evidence": r"= decide\(",
    "Measurement": r"\bCases\(",
    "Reader": r"\breader\.",
    "Search": r"\bsearch_instances\(",
}


def test_every_public_class_has_an_example():
    pages = PAGE.read_text("utf-8") + PAGE.with_name("claims.md").read_text("utf-8")
    code = "\n".join(
        re.findall(r"```(?:python|\{code-cell\} ipython3)\n(.*?)```", pages, re.DOTALL)
    )
    public = [
        name for name in linrep.claims.__all__ if isinstance(getattr(linrep.claims, name), type)
    ]
    missing = [name for name in public if not re.search(MADE.get(name, rf"\b{name}[.(]"), code)]
    assert missing == []


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the page's claims: its cells as a file, without what is only displayed."""
    cells = "\n".join(CELL.findall(PAGE.read_text("utf-8")))
    lines = [line for line in cells.splitlines() if not line.startswith(("%", "outcome("))]
    path = tmp_path_factory.mktemp("page") / "theorems.py"
    path.write_text("\n".join(lines), encoding="utf-8")
    return load_file(path)


def test_the_page_has_these_claims(made):
    assert list(made) == list(VERDICTS)


@pytest.mark.compiled
@pytest.mark.parametrize("name", VERDICTS)
def test_a_claim_gets_its_verdict_and_its_control_fails(made, name):
    found = made[name].verify("quick", rng=0)
    assert found.verdict == VERDICTS[name], found
    assert made[name].negative_control("quick", rng=0).verdict == FAILS
