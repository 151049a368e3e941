"""The report: claims, evidence and figures on one page."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten

import click

from linrep._lib import scripts
from linrep.cli import completion
from linrep.cli.group import FILE, main
from linrep.cli.names import STORE, check_store, choose, read_ledger, read_patterns, runs_options
from linrep.cli.output import check_output, is_device, refuse_same, write_file
from linrep.cli.text import echo, say_count

_LONGEST = 160  # characters of names


@main.command()
@click.argument("ids", metavar="[ID|FILE.py]...", nargs=-1, shell_complete=completion.claims)
@runs_options
@click.option(
    "--figures",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of figures.  [default: figures, or else those that come with linrep]",
)
@click.option(
    "--out", type=FILE, default=Path("report.html"), show_default=True, help="File of the page."
)
@click.option(
    "--json",
    "data",
    type=FILE,
    help="Write the claims with their results here, too, and the address of each on the page.",
)
def report(ids, budget, seed, store, book_path, figures, out, data):
    """Write statements and figures to one HTML page.

    It has all statements, some by id or pattern, or those of a file of your own, with their
    verdicts and evidence. Finished checks of linrep
    verify are shown with their plots; of other statements the page shows what is recorded. Nothing
    is computed.
    """
    check_store(store)
    check_output("--out", out)
    check_output("--json", data)
    refuse_same({"--out": out, "--json": data, "--ledger": book_path})
    file, _ = read_patterns(ids)
    entries = read_ledger(file, book_path)
    chosen, file = choose(ids)
    from linrep.claims import pages
    from linrep.report import gather, render

    if figures is None and Path("figures").is_dir():
        figures = Path("figures")
    elif figures is None:
        figures = scripts.record()
    gathered = gather(
        chosen,
        ledger=entries,
        store=store,
        budget=budget,
        seed=seed,
        figures=figures,
        papers={item.paper for item in chosen} if ids else None,
        file=file,
        # A folder of this machine says nothing to who reads the page elsewhere.
        options=() if store == STORE or store.is_absolute() else ("--store", str(store)),
        book=book_path,
    )
    page = render(gathered).encode()
    write_file(out, page)
    if data is not None:
        items = [entry.record for entry in gathered.entries]
        beside = pages.hosted(items, lambda id: f"{out.name}#{id}")  # in the page's folder
        write_file(data, beside.encode())
    runs = sum(entry.stored for entry in gathered.entries)
    stale = [entry.claim.id for entry in gathered.entries if entry.stale]
    damaged = [entry.claim.id for entry in gathered.entries if entry.damaged]
    if not (runs or stale or damaged):
        echo(f"{store} has no finished check of these claims; linrep verify runs them", err=True)
    if stale:
        some = shorten(", ".join(stale), _LONGEST, placeholder=" …")
        echo(f"{some}: checked in {store} before code was edited; linrep verify checks again",
             err=True)  # fmt: skip
    for name in damaged:
        echo(f"{name}: its check in {store} is damaged; linrep verify runs it again", err=True)
    echo(
        f"{out}: {say_count(len(gathered.entries), 'claim')}, {runs} with a stored run, "
        f"{say_count(len(gathered.figures), 'figure')}, {len(page) / 1e6:.1f} MB",
        err=is_device(out),
    )
    if damaged:
        raise click.exceptions.Exit(1)
