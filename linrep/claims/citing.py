"""What to cite: a paper in BibTeX, with the place of a statement in it.

Of each paper ``paper.bib``, beside its statements, has one entry.
"""

from __future__ import annotations

from pathlib import Path

import linrep
from linrep._lib.papers import papers

#: In the folder of a paper.
FILE = "paper.bib"

_SPECIAL = {"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "^": r"\^{}"}


def software() -> str:
    """Return the entry of linrep itself."""
    return f"""\
@software{{linrep,
  title   = {{linrep: the theory of federated and multi-task representation learning, checked by \
running it}},
  author  = {{{{The linrep developers}}}},
  version = {{{linrep.__version__}}},
  license = {{BSD-3-Clause}},
}}
"""


def tools() -> str:
    """Return the entries of the libraries and solvers that linrep computes and draws with."""
    return Path(__file__).with_name("tools.bib").read_text("utf-8")


def paper(name: str, folder: Path | None = None) -> str:
    """Return the entry of a paper.

    Parameters
    ----------
    name : str
        Such as "fedrep".
    folder : path, optional
        Where its ``paper.bib`` is; that of the paper's package by default.

    Raises
    ------
    ValueError
        If there is no such file.
    """
    path = (folder or papers()[name].folder) / FILE
    if not path.is_file():
        raise ValueError(f"{name} has no {FILE} to cite it by, which would be {path}")
    return path.read_text("utf-8")


def note(id: str, place: str, form: str) -> str:
    """Return what is said of a statement: its place, and what it is called here.

    Parameters
    ----------
    id, place : str
    form : {"printed", "corrected", "own"}
    """
    name = f"{id} in linrep {linrep.__version__}"
    name = name if form == "printed" else f"{form} form, {name}"
    return f"{place} ({name})" if place else name


def noted(entry: str, note: str) -> str:
    r"""Return an entry of BibTeX with a note, in which no sign means anything to TeX.

    Parameters
    ----------
    entry : str
        It ends with a line that has the closing brace alone.
    note : str

    Examples
    --------
    >>> print(noted("@misc{a,\n  title = {On a},\n}\n", "Lemma 5_1"), end="")
    @misc{a,
      title = {On a},
      note = {Lemma 5\_1},
    }
    """
    text = "".join(_SPECIAL.get(sign, sign) for sign in note)
    start = entry.rstrip().removesuffix("}").rstrip().removesuffix(",")
    return f"{start},\n  note = {{{text}}},\n}}\n"
