"""``python -m linrep.cli``."""

from linrep.cli import main

main(prog_name="linrep")
