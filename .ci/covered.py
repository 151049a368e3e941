"""Compare the lines of linrep that `make test` runs with those that all tests run.

usage: covered.py [PROCESSES]

Prints both shares and their difference, and what `make test` does not call of the public names and
the commands. Ends with status 1 if the difference is more than two points, anything is not
called, or a test fails. Compiled kernels are left out, as coverage cannot see into them; `make
test-nojit PYTEST_ARGS="--cov"` shows theirs. So is what other processes run.
"""

import importlib
import inspect
import os
import re
import subprocess
import sys
import tempfile
from functools import cached_property
from pathlib import Path

import coverage

import linrep
from linrep.cli import main

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = 2.0
QUICK = "not slow"


def run(selection, data, processes):
    """Run the tests of a selection and add the lines they run to a file; return pytest's status."""
    print(f"pytest -m {selection!r}", flush=True)
    command = [
        sys.executable, "-m", "pytest", "-q", "-n", processes, "--dist", "worksteal",
        "-m", selection, "--cov=linrep", "--cov-append", "--cov-report=",
    ]  # fmt: skip
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **one_thread, "COVERAGE_FILE": str(data)}
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def measured(data):
    """Return the statements of each file that can be seen, and those of them that were run."""
    found = coverage.Coverage(data_file=data, config_file=ROOT / "pyproject.toml")
    found.load()
    lines = {}
    for path in sorted((ROOT / "linrep").rglob("*.py")):
        if "kernels" not in path.parts:
            _, statements, _, missing, _ = found.analysis2(str(path))
            lines[str(path)] = set(statements), set(statements) - set(missing)
    return lines


def share(lines):
    """Return the percentage of the statements that were run."""
    statements, ran = (sum(map(len, each)) for each in zip(*lines.values(), strict=True))
    print(f"{ran} of {statements} statements, {100.0 * ran / statements:.2f} %")
    return 100.0 * ran / statements


def public_functions():
    """Yield the functions behind the names that the reference lists, and behind the commands."""
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        for module in re.findall(r"{public} (\S+)", page.read_text("utf-8")):
            members = vars(importlib.import_module(module)).items()
            offered = getattr(importlib.import_module(module), "__all__", None) or [
                name
                for name, item in members
                if not name.startswith("_") and getattr(item, "__module__", None) == module
            ]
            for name in offered:
                yield from functions(
                    f"{module}.{name}", getattr(importlib.import_module(module), name)
                )
    for name in linrep.__all__:
        yield from functions(f"linrep.{name}", getattr(linrep, name))
    for name, command in main.commands.items():
        yield f"linrep {name} (command)", inspect.unwrap(command.callback)


def functions(name, item):
    """Yield a function, or those of a class that it shows."""
    if not inspect.isclass(item):
        item = inspect.unwrap(item)
        if inspect.isfunction(item):
            yield name, item
        return
    for method, member in vars(item).items():
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        member = inspect.unwrap(getattr(member, "__func__", member))
        if inspect.isfunction(member) and (not method.startswith("_") or method == "__init__"):
            yield f"{name}.{method}", member


def is_called(function, lines):
    """Tell whether a line of a function's body was run; of what is not a file's, nobody knows."""
    code = function.__code__
    statements, ran = lines.get(code.co_filename, (set(), set()))
    body = {line for *_, line in code.co_lines() if line != code.co_firstlineno} & statements
    return not body or bool(body & ran)


if __name__ == "__main__":
    processes = sys.argv[1] if len(sys.argv) > 1 else "2"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "coverage")
        failed = run(QUICK, data, processes)
        quick = measured(data)
        failed |= run(f"not ({QUICK})", data, processes)
        every = measured(data)
    uncalled = sorted({name for name, each in public_functions() if not is_called(each, quick)})
    print("make test:     ", end="")
    part = share(quick)
    print("make test-all: ", end="")
    whole = share(every)
    print(f"difference:    {whole - part:.2f} points, at most {ALLOWED:.0f} allowed")
    print(f"not called by make test: {', '.join(uncalled) or 'none'}")
    sys.exit(bool(failed or uncalled) or whole - part > ALLOWED)
