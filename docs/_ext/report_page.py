"""The report as a page of the site, and the ledger as JSON: recorded results, no check runs."""

from pathlib import Path

import linrep
from linrep._lib.papers import own
from linrep.claims import claims, ledger, pages
from linrep.claims.claim import paper_of
from linrep.report import gather, render

#: Its file, which no page of the documentation has.
NAME = "full-report.html"


def link(text, **chosen):
    """Return a link to the report for a page at the top, perhaps to a selection of its claims.

    Parameters
    ----------
    text : str
    **chosen : str
        As the report's filter has it: ``paper="fedrep"``, ``verdict="fails"``.
    """
    anchor = "&amp;".join(f"{name}={value}" for name, value in chosen.items())
    return f'<a href="{NAME}{"#" * bool(anchor)}{anchor}">{text}</a>'


def address(id):
    """Return where a statement of the ledger is shown on the site."""
    return f"ledger/{paper_of(id)}.html#{id}"


def write(folder):
    """Write the report into a folder, as `linrep report` does where nothing was run, and JSON."""
    root = Path(linrep.__file__).parents[1]
    report = gather(
        claims(own()).values(),
        ledger=ledger.known(own()),
        store=Path(folder) / "_runs",  # there are none
        figures=root / "figures",
        progress=False,
    )
    (Path(folder) / NAME).write_text(render(report), encoding="utf-8")
    items = [entry.record for entry in report.entries]
    (Path(folder) / "ledger.json").write_text(pages.hosted(items, address), encoding="utf-8")


def _build(app, exception):
    if exception is None and app.builder.name in ("html", "dirhtml"):
        write(app.outdir)


def setup(app):
    app.connect("build-finished", _build)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
