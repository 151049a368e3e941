"""Counterexamples in fractions: files of the standard library alone, evaluated without linrep.

``python linrep/claims/counterexamples.py FILE...`` evaluates some; this file imports nothing else.
Each has a function `sides`, which returns the left side of what is claimed to be at most the right
one, and the right one: whole numbers or fractions, and the left one is larger.
"""

import runpy
import sys
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

#: In the folder of a paper.
FOLDER = "counterexamples"


def path_of(claim: str) -> Path:
    """Return the file of a claim's counterexample; not every claim has one.

    It is named after the claim, or after several of which it is one, with "_and_" between them.
    """
    from linrep._lib.papers import papers  # where this file is run, nothing of linrep is loaded

    paper, _, name = claim.partition(".")
    file = "".join(letter if letter.isalnum() else "_" for letter in name.lower())
    folder = papers()[paper].folder / FOLDER if paper in papers() else Path(FOLDER)
    shared = (path for path in folder.glob("*_and_*.py") if file in path.stem.split("_and_"))
    return next(shared, folder / f"{file}.py")


def evaluate(path: Path) -> tuple[Fraction, Fraction]:
    """Return both sides at a counterexample."""
    left, right = runpy.run_path(str(path))["sides"]()
    for side in (left, right):
        if not isinstance(side, int | Fraction):
            raise TypeError(f"{path}: a side must be a fraction, got {side!r}")
    return Fraction(left), Fraction(right)


def is_one(path: Path) -> bool:
    """Tell whether the left side is the larger one."""
    left, right = evaluate(path)
    return left > right


def among(claims: Iterable[str]) -> dict[str, Path]:
    """Return the files of counterexamples by claim, of those that have one."""
    files = {name: path_of(name) for name in claims}
    return {name: path for name, path in files.items() if path.is_file()}


def main(paths: list[str]) -> int:
    """Print both sides of counterexamples; return 1 if one is none."""
    good = True
    for path in paths:
        left, right = evaluate(Path(path))
        good &= left > right
        print(f"{path}: {float(left):.6g} {'>' if left > right else '<='} {float(right):.6g}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
