"""The packages of papers under docs/examples: their files, and statements that are quick."""

import pytest

from tests.cli.test_new_paper import call, installed
from tests.test_import import ROOT
from tests.tools import sampled

EXAMPLES = ROOT / "docs" / "examples"
QUICK = {
    "linrep-anil": ("anil.diversity", "anil.diversity.corrected"),
    "linrep-tjj": ("tjj.moment", "tjj.transfer.helps", "tjj.transfer.helps.corrected"),
}


@pytest.mark.parametrize("name", sampled(QUICK, 1))
def test_files_are_those_of_the_sources(name, tmp_path):
    repository = EXAMPLES / name
    tests = str(repository / "tests" / "test_paper.py")
    said = call(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests,
        "-k", "test_files and not figures",
        path=installed(repository, tmp_path / "site"),
    )  # fmt: skip
    assert "4 passed" in said


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ids"), QUICK.items())
def test_verdicts_are_as_recorded(name, ids, tmp_path):
    path = installed(EXAMPLES / name, tmp_path / "site")
    said = call(tmp_path, "-m", "linrep", "verify", *ids, "--budget", "quick", path=path)
    assert f"{len(ids)} as recorded" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_all_claims_and_negative_controls_pass(name, tmp_path):
    repository = EXAMPLES / name
    tests = str(repository / "tests" / "test_paper.py")
    call(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests,
        path=installed(repository, tmp_path / "site"),
    )  # fmt: skip
