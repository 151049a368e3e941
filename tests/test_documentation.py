"""Code in the documentation runs."""

import re
from pathlib import Path

import pytest

import linrep

DOCS = Path(linrep.__file__).parents[1] / "docs"
BLOCKS = [
    pytest.param(block, id=f"{page}-{number}")
    for page in ("findings", "gram")
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text("utf-8"), re.DOTALL), 1
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_code_runs(block):
    exec(compile(block, "documentation", "exec"), {})
