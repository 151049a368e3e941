"""What the tests of commands share."""

from click.testing import CliRunner

from linrep.cli import main


def call(line, *words, status=0):
    """Call a line and further words, which end with this status; return what is printed."""
    done = CliRunner().invoke(main, [*line.split(), *map(str, words)])
    assert done.exit_code == status, done.output
    return done.output
