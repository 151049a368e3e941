"""The command line."""

from linrep._lib.extras import need

need("cli", "the command line")

# A command is there once its module is loaded.
from linrep.cli import (
    certify,
    cite,
    compare,
    figures,
    info,
    networks,
    new,
    pictures,
    report,
    reproduce,
    sensitivity,
    show,
    sweeps,
    verify,
)
from linrep.cli.figures import run_script
from linrep.cli.group import main

__all__ = [
    "certify",
    "cite",
    "compare",
    "figures",
    "info",
    "main",
    "networks",
    "new",
    "pictures",
    "report",
    "reproduce",
    "run_script",
    "sensitivity",
    "show",
    "sweeps",
    "verify",
]
