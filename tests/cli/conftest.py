"""Where commands are called."""

import sys

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path
