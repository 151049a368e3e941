"""The command ``linrep``, and ``python -m linrep``."""

import sys

from linrep._lib.extras import MissingPackage


def main():
    """Run the command line; what it lacks is one line and exit status 2."""
    try:
        from linrep.cli import main as command

        command(prog_name="linrep")
    except MissingPackage as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
