"""Bars are seen on a terminal and in a notebook, and nowhere else unless asked for."""

import os
import pty
import subprocess
import sys
import termios
from io import StringIO

import pytest

from linrep._lib import progress
from linrep._lib.progress import JobsBar, progress_bar

SCRIPT = """
from linrep._lib.progress import progress_bar
with progress_bar(None, total=3, desc="walk") as bar:
    for _ in range(3):
        bar.update()
print("done")
"""


def test_nothing_is_written_where_nobody_looks(capsys):
    exec(SCRIPT)
    assert capsys.readouterr() == ("done\n", "")


@pytest.mark.parametrize("terminal", [pytest.param("dumb", marks=pytest.mark.slow), "xterm"])
def test_a_terminal_shows_the_bar_without_escape_sequences(terminal):
    reader, writer = pty.openpty()
    termios.tcsetwinsize(writer, (24, 80))
    environment = os.environ | {"TERM": terminal}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=writer, env=environment
    )
    os.close(writer)
    text = os.read(reader, 65536).decode()
    os.close(reader)
    assert done.returncode == 0
    assert "walk" in text
    assert "3/3" in text
    assert "\x1b" not in text


def test_a_log_gets_a_line_every_minute_where_a_sweep_asks_for_it(capsys):
    with progress_bar(None, lines=True, total=9, initial=1, desc="walk", unit="run") as bar:
        now = [bar.start_t]
        bar._time = lambda: now[0]
        for _ in range(4):
            now[0] += 31.0
            bar.set_postfix_str("step 3")
            bar.update()
    assert capsys.readouterr().err.splitlines() == [
        "walk: 2/9 runs [01:02<07:14, step 3]",
        "walk: 4/9 runs [02:04<03:26, step 3]",
    ]


@pytest.mark.parametrize("shown", [False, True])
def test_it_is_shown_where_asked_for(shown):
    stream = StringIO()
    with progress_bar(shown, total=2, file=stream) as bar:
        bar.update(2)
    assert ("2/2" in stream.getvalue()) == shown


class Recorded:
    """In the place of tqdm's bar: what it was given."""

    def __init__(self, total):
        self.total, self.n, self.said = total, 0.0, []

    def update(self, amount):
        self.n += amount

    def refresh(self):
        pass

    def close(self):
        pass

    def set_description_str(self, text, refresh):
        self.said.append(text)


def test_jobs_count_by_their_time_and_stored_ones_not_at_all(monkeypatch):
    made = []

    def bar(shown, total, **settings):
        made.append(Recorded(total))
        return made[-1]

    monkeypatch.setattr(progress, "progress_bar", bar)
    seconds = {"long": 90.0, "short": 10.0, "stored": 50.0, "new": None}
    with JobsBar(True, seconds, desc="verify", unit="claim") as jobs:
        shown = made[0]
        assert shown.total == 200.0  # the new one as the one in the middle
        jobs.done("stored", computed=False)
        assert (shown.n, shown.total) == (0.0, 150.0)
        jobs.done("long")
        assert shown.n / shown.total == 0.6
        jobs.done("short")
        jobs.done("new")
    assert shown.n == shown.total
    assert shown.said[-1] == "verify: 4/4 claims"


def test_the_bar_of_jobs_shows_the_time_left(capsys):
    with JobsBar(True, {"one": 1.0, "other": 3.0}, desc="verify", unit="claim") as jobs:
        jobs.done("one")
    text = capsys.readouterr().err
    assert "verify: 1/2 claims  25%" in text
    assert "<" in text


@pytest.mark.slow
def test_a_notebook_shows_the_bar_and_no_warning():
    """With ipywidgets it is a widget, without them text."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cell = nbformat.v4.new_code_cell(SCRIPT)
    nbclient.execute(nbformat.v4.new_notebook(cells=[cell]))
    reported = "".join(str(output) for output in cell.outputs)
    assert "walk" in reported
    assert "/3" in reported  # of a widget, the state before its first update
    assert "Warning" not in reported
