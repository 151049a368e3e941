"""What the tests of figures share."""

from pathlib import Path
from tempfile import TemporaryDirectory

from linrep.figures.computing import compute, measured_rows


def run_rows(item, runs=None, **options):
    """Return the rows of a figure, whose run is kept in a folder if there is one."""
    with TemporaryDirectory() as scratch:
        return measured_rows(
            compute(item, Path(scratch) if runs is None else runs, **options).read()
        )
