"""Code in the documentation runs."""

import re
from pathlib import Path

import pytest

import linrep

DOCS = Path(linrep.__file__).parents[1] / "docs"


def blocks(path):
    """Return a page's blocks of Python."""
    return re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


BLOCKS = [
    pytest.param(block, id=f"{page}-{number}")
    for page in ("findings", "gram")
    for number, block in enumerate(blocks(DOCS / f"{page}.md"), 1)
]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_code_runs(block):
    exec(compile(block, "documentation", "exec"), {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["README.md", "docs/deep.md", "docs/flute.md", "docs/perfedsi.md", "docs/pflmf.md"]
)
def test_a_page_runs_from_top_to_bottom(page, monkeypatch, tmp_path):
    if page == "docs/deep.md":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(DOCS.parent / page):
        exec(compile(block, page, "exec"), names)
