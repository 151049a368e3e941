"""Files of kernels are tested by files of their names."""

from pathlib import Path

import linrep

PACKAGE = Path(linrep.__file__).parent
TESTS = Path(__file__).parent


def test_every_public_file_of_kernels_has_its_tests():
    names = [path.stem for path in PACKAGE.glob("kernels/[a-z]*.py")]
    assert names
    assert [name for name in names if not (TESTS / "kernels" / f"test_{name}.py").is_file()] == []
