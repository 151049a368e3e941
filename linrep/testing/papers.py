"""The files beside a paper's statements as a pytest test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from linrep._lib.extras import need
from linrep._lib.papers import papers
from linrep._lib.scripts import available
from linrep._lib.suggest import unknown
from linrep.claims import certificates, contents, counterexamples, ledger
from linrep.claims.claim import claims
from linrep.claims.evidence import HOLDS, UNDECIDED
from linrep.claims.prose import findings
from linrep.figures.drawing import make_figure
from linrep.figures.experiment import load


def paper_tests(name: str) -> Callable[..., None]:
    """Return a pytest test of what a paper has beside its statements, file by file.

    Assign it to a name that begins with ``test``. The contents list each statement that the paper
    prints; each verdict is recorded, with the texts and the questions to solvers as they are; a
    finding says why a statement fails; counterexamples are some; each
    figure can be drawn, which is tried with quick sizes and two replicates.

    Parameters
    ----------
    name : str
        Of a paper of linrep or of an installed package.

    Returns
    -------
    callable
        Parametrized by the names of files.

    Raises
    ------
    ValueError
        If there is no such paper.
    """
    need("test", "paper_tests")
    import pytest

    if name not in papers():
        raise ValueError(unknown("no paper", name, papers()))
    checks = {
        "contents.toml": _contents,
        "ledger.json": _ledger,
        "findings.md": _findings,
        "counterexamples": _counterexamples,
        "figures": _figures,
    }

    @pytest.mark.parametrize("file", checks)
    def test(file):
        wrong = list(checks[file](name))
        assert not wrong, "; ".join(wrong)

    return test


def _contents(name: str) -> Iterator[str]:
    listed = {item.id for each in contents.contents(name) for item in each.printed()}
    for id, item in claims([name]).items():
        if not item.corrects and id not in listed:
            yield f"{id} is not in {contents.FILE}"


def _ledger(name: str) -> Iterator[str]:
    known = claims([name]).keys()
    recorded = {id for id in ledger.recorded() if id.startswith(f"{name}.")}
    yield from (f"{id} has no recorded verdict" for id in known - recorded)
    yield from (f"{id} is recorded, and no claim any more" for id in recorded - known)
    for id in ledger.stale(name):
        yield f"{id} is recorded with other texts or lines than it has: linrep verify {id} --record"
    for step, item in certificates.certificates([name]).items():
        if item.claim not in known:
            yield f"{step} is a line of no claim"


def _findings(name: str) -> Iterator[str]:
    recorded = ledger.recorded()
    for id in claims([name]):
        wrong = id in recorded and recorded[id].verdict not in (HOLDS, UNDECIDED)
        if wrong and not (id in findings() and findings()[id].severity):
            yield f"{id}: no finding says why it does not hold, and how severe that is"
    for id in findings():
        if id.startswith(f"{name}.") and id not in claims([name]):
            yield f"{id} has a finding, and is no claim"


def _counterexamples(name: str) -> Iterator[str]:
    files = counterexamples.among(claims([name]))
    for path in papers()[name].folder.glob(f"{counterexamples.FOLDER}/*.py"):
        if path not in files.values():
            yield f"{path} is named after no claim"
    for id, path in files.items():
        if not counterexamples.is_one(path):
            yield f"{path} is no counterexample to {id}: its left side is not larger"


def _figures(name: str) -> Iterator[str]:
    for id in available():
        if id.startswith(f"{name}."):
            figure = load(id).with_sizes({"replicates": 2})
            if not figure.missing(quick=True):
                with TemporaryDirectory() as out:
                    try:
                        make_figure(figure, out=Path(out), quick=True)
                    except Exception as error:
                        yield f"{id} cannot be drawn: {type(error).__name__}: {error}"
