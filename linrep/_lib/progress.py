"""The bar that long work shows, and the lines that stand for it in a log."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from statistics import median
from typing import Any

from linrep._lib.extras import installed, need

_LINE_EVERY = 60.0  # seconds


def progress_bar(shown: bool | None, *, lines: bool = False, **settings):
    """Return a tqdm bar with settings of tqdm: total, initial, desc, unit.

    Unless it is said whether it is shown, it is where somebody looks, on a terminal and in a
    notebook, if tqdm is installed; elsewhere, as in the log of a job, it may be lines, one a
    minute.
    """
    if not installed("tqdm"):
        if shown:
            need("sweeps", "a progress bar")
        return _NoBar()
    from tqdm import TqdmWarning

    with warnings.catch_warnings():
        # Without ipywidgets a notebook's bar is text, which is nothing to warn of.
        warnings.simplefilter("ignore", TqdmWarning)
        from tqdm.auto import tqdm
    if shown is None:
        # A notebook's streams are no terminals; tqdm's own None shows bars on these alone.
        bar = tqdm(**settings, disable=False if in_notebook() else None)
        return _lines(**settings) if lines and bar.disable else bar
    return tqdm(**settings, disable=not shown)


def say_stopped(done: int, total: int, what: str) -> str:
    """Say how far work had come when it was stopped, perhaps after the last item."""
    at = f"at {done}" if done < total else "after the last"
    return f"stopped {at} of {total} {what}"


class _NoBar:
    """What stands for a bar where there is none."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def update(self, count=1):
        pass

    def set_postfix_str(self, text):
        pass

    def write(self, text, file):
        print(text, file=file)


def _lines(**settings):
    """Return a bar that is a line on standard error every minute."""
    from tqdm import tqdm

    class Lines(tqdm):
        def display(self, msg=None, pos=None):
            if msg is None:  # or it is closed
                print(self, file=sys.stderr, flush=True)

        @staticmethod
        def write(s, file=None, end="\n", nolock=False):
            print(s, file=file, end=end)  # there is no bar to be drawn anew below it

        def set_postfix_str(self, s="", refresh=True):
            super().set_postfix_str(s, refresh=False)
            self.update(0)

    form = "{desc}: {n_fmt}/{total_fmt} {unit}s [{elapsed}<{remaining}{postfix}]"
    return Lines(
        **settings, bar_format=form, miniters=0, mininterval=_LINE_EVERY, delay=_LINE_EVERY,
        leave=False, smoothing=0.0, file=StringIO(),  # not what tqdm writes itself
    )  # fmt: skip


class JobsBar:
    """A bar for jobs of which some take much longer than others: what is done is counted in time.

    The seconds are those that each job took before, None where that is not known; it is shown as
    by :func:`progress_bar`.
    """

    def __init__(
        self, shown: bool | None, seconds: Mapping[Any, float | None], *, desc: str, unit: str
    ):
        known = [each for each in seconds.values() if each is not None]
        typical = (median(known) if known else 0.0) or 1.0
        self._seconds = {name: typical if each is None else each for name, each in seconds.items()}
        self._desc, self._unit, self._count = desc, unit, 0
        self._bar = progress_bar(
            shown, desc=self._description(), total=sum(self._seconds.values()) or 1.0,
            smoothing=0.0, bar_format="{desc} {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]",
        )  # fmt: skip

    def __enter__(self) -> JobsBar:
        return self

    def __exit__(self, *exception) -> None:
        self._bar.close()

    def done(self, name: Any, *, computed: bool = True) -> None:
        """Count a job as finished; one that was there already says nothing of the speed."""
        self._count += 1
        self._bar.set_description_str(self._description(), refresh=False)
        bar, seconds = self._bar, self._seconds[name]
        if computed:
            bar.update(min(seconds, bar.total - bar.n))  # a sum of floats may be above the total
        else:
            bar.total = max(bar.total - seconds, bar.n)
            bar.refresh()

    def write(self, text: str) -> None:
        """Say something on standard error, beside the bar."""
        self._bar.write(text, file=sys.stderr)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away while something is printed on standard output."""
        self._bar.clear()
        yield
        self._bar.refresh()

    def _description(self):
        return f"{self._desc}: {self._count}/{len(self._seconds)} {self._unit}s"


def in_notebook() -> bool:
    """Tell whether this process is a kernel of Jupyter's."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
