"""What the tests of the documentation share."""

import importlib
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_ext"


@pytest.fixture
def extension(monkeypatch):
    """Return what imports a module of the site's own extensions."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(EXTENSIONS)
    return importlib.import_module
