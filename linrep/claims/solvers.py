"""What z3 and cvc5 answer to a question in SMT-LIB.

As a script it answers the question on standard input by the solver that is named.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version

UNKNOWN = "unknown"
_START = 5.0  # seconds that a process has to begin


def z3(question: str, seconds: float) -> str:
    """Return the answer of z3."""
    import z3 as solver

    asked = solver.SolverFor("QF_NRA")
    asked.set("timeout", int(1000 * seconds))
    asked.from_string(question)
    return str(asked.check())


def cvc5(question: str, seconds: float) -> str:
    """Return the answer of cvc5."""
    import cvc5 as library

    solver = library.Solver()
    solver.setOption("tlimit-per", str(int(1000 * seconds)))
    solver.setOption("nl-cov", "true")  # cylindrical algebraic coverings, complete for reals
    parser = library.InputParser(solver)
    parser.setStringInput(library.InputLanguage.SMT_LIB_2_6, question, "question")
    symbols, answer = parser.getSymbolManager(), UNKNOWN
    while not (command := parser.nextCommand()).isNull():
        answer = command.invoke(solver, symbols).strip() or answer
    return answer if answer in ("sat", "unsat") else UNKNOWN


#: By the name of the package, as it is installed.
SOLVERS: Mapping[str, Callable[[str, float], str]] = {"z3": z3, "cvc5": cvc5}
_DISTRIBUTIONS = {"z3": "z3-solver"}


def ask(solver: str, question: str, seconds: float) -> str:
    """Return what a solver answers, "unknown" where it takes too long.

    It runs in a process of its own, as neither keeps to its time limit everywhere.
    """
    words = [sys.executable, "-P", __file__, solver, str(seconds)]
    try:
        done = subprocess.run(
            words,
            input=question,
            capture_output=True,
            text=True,
            timeout=seconds + _START,
        )
    except subprocess.TimeoutExpired:
        return UNKNOWN
    if done.returncode:
        raise RuntimeError(f"{solver} has ended without an answer")
    return done.stdout


def are_installed() -> bool:
    """Tell whether the solvers can be imported."""
    from linrep._lib.extras import installed

    return all(map(installed, SOLVERS))


def versions() -> dict[str, str]:
    """Return the versions of the solvers."""
    from linrep._lib.extras import need

    need("certify", "linrep certify")
    return {name: version(_DISTRIBUTIONS.get(name, name)) for name in SOLVERS}


if __name__ == "__main__":
    name, limit = sys.argv[1:]
    sys.stdout.write(SOLVERS[name](sys.stdin.read(), float(limit)))
