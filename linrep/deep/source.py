"""The code that trains networks, as a digest: a run does not go on by other code."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def source() -> str:
    """Return a digest of the source of linrep.deep.

    It is asked for once in a process: the code may be edited while it computes.
    """
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]
