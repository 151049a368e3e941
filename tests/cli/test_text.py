"""Colours where they are shown, and tables that fit the terminal."""

import io

import pandas as pd
import pytest

from linrep.cli import main, text
from linrep.cli.text import Painted, echo, frame, has_color, print_listing, verdict
from tests.tools import runner


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def narrow(monkeypatch, capsys):
    monkeypatch.setattr(text, "width", lambda: 40)
    return lambda: capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("variables", "pipe", "terminal"),
    [
        ({}, False, True),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, False, True),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_where_there_is_colour(monkeypatch, variables, pipe, terminal):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert has_color(io.StringIO()) is pipe
    assert has_color(Terminal()) is terminal


def test_verdicts_and_errors_have_colours_and_data_cannot_have_any(monkeypatch, capsys):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    echo(verdict("fails"), " and ", verdict("holds"), " \x1b[31m")
    out = capsys.readouterr().out
    assert out == "\x1b[31mfails\x1b[0m and \x1b[32mholds\x1b[0m \\x1b[31m\n"
    done = runner(env={"FORCE_COLOR": "1"}).invoke(main, ["nothing"], color=True)
    assert done.stderr.startswith("\x1b[")
    monkeypatch.delenv("FORCE_COLOR")
    echo(verdict("fails"), Painted("x", "error"))
    assert capsys.readouterr().out == "failsx\n"


def test_a_data_frame_comes_in_parts_that_fit_the_terminal(narrow):
    data = pd.DataFrame({f"column{place}": [place / 7, None] for place in range(9)})
    frame(data)
    lines = narrow()
    assert max(map(len, lines)) <= 40
    words = {word for line in lines for word in line.split()}
    assert words >= {*data, "NaN", "0.14286", "1.1429"}


def test_sentences_are_cut_on_a_terminal_alone(narrow, monkeypatch):
    rows = [("a", verdict("holds"), "word " * 20)]
    print_listing(rows)
    (line,) = narrow()
    assert len(line) <= 40
    assert line.endswith("…")
    monkeypatch.setattr(text, "width", lambda: None)
    print_listing(rows)
    assert narrow() == [f"a  holds  {'word ' * 20}"]
