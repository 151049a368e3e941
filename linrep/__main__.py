"""The command ``linrep``, and ``python -m linrep``."""

import sys

from linrep._lib.extras import MissingPackage


def main():
    """Run the command line; one line and exit status 2 where it is not installed."""
    try:
        from linrep.cli import main as command
    except MissingPackage as error:
        sys.exit(_say(error))
    command(prog_name="linrep")


def _say(error):
    print(f"Error: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
