"""The command line."""

from linrep._lib.extras import need

need("cli", "the command line")

# A command is there once its module is loaded.
from linrep.cli import (  # noqa: F401
    certify,
    figures,
    new,
    report,
    reproduce,
    runs,
    show,
    sweeps,
    verify,
)
from linrep.cli.figures import run_script
from linrep.cli.group import main

__all__ = ["main", "run_script"]
