"""Texts that linrep writes are not taken apart again: what they say is carried as data."""

import ast

from tests.test_layers import SOURCES, nodes

#: Modules that take texts apart, and whose texts these are.
READERS = {
    "linrep._lib.arguments": "annotations in sources",
    "linrep._lib.described": "docstrings",
    "linrep._lib.display": "any text, whose marks are escaped",
    "linrep._lib.provenance": "the system's description of the processor",
    "linrep._lib.validation": "names that people give",
    "linrep.claims.certificates": "names that people give to lines of proofs",
    "linrep.claims.formulas": "formulas of papers",
    "linrep.claims.laws": "formulas in which people mark constants",
    "linrep.claims.contents": "sentences with formulas that people write",
    "linrep.claims.lookup": "what people search for",
    "linrep.cli.axes": "docstrings",
    "linrep.cli.names": "sources of statements",
    "linrep.cli.surroundings": "requirements in a package's metadata",
    "linrep.cli.reproduce": "where papers state what",
    "linrep.cli.text": "any text, whose control characters are escaped",
    "linrep.cli.values": "options that people type",
    "linrep.deep.readers": "tweets",
    "linrep.figures.record": "JSON, whose short lists are written in a line",
    "linrep.report.mathml": "formulas of papers",
    "linrep.report.prose": "Markdown, in which badges have attributes",
    "linrep.report.pictures": "SVG of matplotlib",
    "linrep.report.sphinx": "findings and contents that people write",
    "linrep.simulation.parameters": "docstrings",
    "linrep.sweeps.directories": "keys in files, which may be damaged",
    "linrep.sweeps.store": "notes of a replicate, stored in one cell",
}
#: Methods of columns that search texts.
_SEARCH = {"contains", "extract", "extractall", "findall", "fullmatch", "match", "split"}


def takes_texts_apart(source):
    """Tell whether a module searches texts by patterns: its own, or those of a column."""
    for node in nodes(source):
        match node:
            case ast.Import(names=names) if "re" in {alias.name for alias in names}:
                return True
            case ast.ImportFrom(module="re"):
                return True
            case ast.Attribute(value=ast.Attribute(attr="str"), attr=name) if name in _SEARCH:
                return True
    return False


def test_only_texts_of_others_are_taken_apart():
    found = {module for module, source in SOURCES.items() if takes_texts_apart(source)}
    unnamed, stale = found - READERS.keys(), READERS.keys() - found
    assert unnamed == set(), "carry what the text says as data, or name whose text it is"
    assert stale == set()


def test_whoever_takes_texts_apart_is_found():
    for line in ("import json, re", "from re import sub", "rows['panel'].str.contains('along')"):
        assert takes_texts_apart(line)
    assert not takes_texts_apart("import json\nname.split(', ')\nrows['panel'].str.strip()")
