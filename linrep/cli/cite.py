"""``linrep cite``: what to cite, in BibTeX."""

from __future__ import annotations

import click

from linrep._lib.papers import named
from linrep.cli import completion, names
from linrep.cli.group import bad_input, main
from linrep.cli.text import echo


@main.command()
@click.argument("what", metavar="[PAPER|ID]...", nargs=-1, shell_complete=completion.shown)
def cite(what):
    """Print BibTeX entries of papers, or of statements by id or pattern.

    Without a name, those of linrep and of all its papers are printed.
    """
    papers = names.papers()
    what = names.match_spelling(what, [*papers, *names.claims()])
    patterns = [name for name in what if name not in papers]
    with bad_input(ValueError):
        names.check_claims(patterns, "no paper or claim")
    from linrep.claims import citing, select
    from linrep.claims.stated import stated

    notes: dict[str, list[str]] = {name: [] for name in (what or papers) if name in papers}
    with bad_input(ValueError, OSError):
        for item in select(stated(named(patterns)), patterns) if patterns else ():
            notes.setdefault(item.paper, []).append(citing.note(item))
        entries = [
            citing.noted(citing.paper(name), "; ".join(own)) if own else citing.paper(name)
            for name, own in notes.items()
        ]
    echo("\n".join([*([] if what else [citing.software()]), *entries]).rstrip())
