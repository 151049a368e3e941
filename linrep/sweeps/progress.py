"""The bar that long work shows."""

from __future__ import annotations

import sys
import warnings


def progress_bar(shown: bool | None, **settings):
    """Return a tqdm bar.

    Parameters
    ----------
    shown : bool or None
        None shows it where somebody looks: on a terminal and in a notebook.
    **settings
        Of tqdm: total, initial, desc, unit.
    """
    from tqdm import TqdmWarning

    with warnings.catch_warnings():
        # Without ipywidgets a notebook's bar is text, which is nothing to warn of.
        warnings.simplefilter("ignore", TqdmWarning)
        from tqdm.auto import tqdm
    if shown is None:
        # A notebook's streams are no terminals; tqdm's own None shows bars on these alone.
        return tqdm(**settings, disable=False if in_notebook() else None)
    return tqdm(**settings, disable=not shown)


def in_notebook() -> bool:
    """Tell whether this process is a kernel of Jupyter's."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
