"""Whether what stands beside a paper's statements is about statements that there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from linrep._lib.papers import papers
from linrep._lib.suggest import unknown
from linrep.claims import contents, findings, proofs
from linrep.claims.sections import sections


def check(paper: str, known: Collection[str]) -> None:
    """Raise ValueError for what is wrong in a paper's findings, derivations or contents."""
    folder = papers()[paper].folder
    findings.findings(tuple(folder.glob(findings.FILE)))
    for name in (findings.FILE, proofs.FILE):
        for path in folder.glob(name):
            for section in sections(path):
                _check_ids(path, ((id, section.line) for id in section.ids), known)
    for path in folder.glob(contents.FILE):
        text = path.read_text("utf-8")
        named = [id for item in contents.read(path) for id in item.claims]
        _check_ids(path, ((id, _line_of(id, text)) for id in named), known)


def _check_ids(path: Path, ids: Iterator[tuple[str, int]], known: Collection[str]) -> None:
    for id, line in ids:
        if id not in known:
            said = unknown("no statement", id, known, otherwise="linrep verify --list shows them")
            raise ValueError(f"{path}:{line}: {said}")


def _line_of(id: str, text: str) -> int:
    """Return the line of a file of TOML in which an id stands first."""
    before, found, _ = text.partition(f'"{id}"')
    return before.count("\n") + 1 if found else 1
