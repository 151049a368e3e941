"""``linrep sensitivity``: versions of claims that say more, and whether the checks notice."""

from __future__ import annotations

import click

from linrep._lib.papers import named
from linrep.cli import completion, names
from linrep.cli.group import SEED_OPTION, BadInput, bad_input, main, recording
from linrep.cli.text import echo, say_count, table


@main.command()
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completion.claims)
@click.option(
    "--budget",
    type=click.Choice(["quick", "standard", "thorough"]),
    default="quick",
    show_default=True,
    help="Of the checks.",
)
@SEED_OPTION
@click.option("--record", is_flag=True, help="Write what becomes of the versions.")
def sensitivity(ids, budget, seed, record):
    """Move the constants of claims so that they say more, and see which change is noticed.

    Of all claims that hold, or of some by id or pattern: each constant is moved by 5, 10 and 50 %,
    until a version is refuted. "accepted" is what a check does not notice: either it does not look
    where the version is false, or the claim is not sharp. "doubted" is what a check that accepts
    the claim leaves undecided. "true" is proved by intervals over the whole region.
    """
    with bad_input(ValueError):
        ids = names.match_spelling(ids, names.claims())
        names.check_claims(ids)
    from linrep.claims import claims, ledger, mutants, select
    from linrep.claims import sensitivity as known
    from linrep.claims.evidence import HOLDS, MISPRINT

    with bad_input(ValueError, OSError):
        entries = ledger.recorded()
    chosen = [
        item
        for item in select(claims(named(ids)), ids)
        if item.stronger and item.id in entries and entries[item.id].verdict in (HOLDS, MISPRINT)
    ]
    if not chosen:
        raise BadInput("ID: none of these holds and names constants that can be moved")
    found = {}
    with (
        bad_input(OSError),
        recording("sensitivity", [item.id for item in chosen], known.record, record) as batches,
    ):
        for item in chosen:
            found[item.id] = mutants.measure(item, budget, seed)
            batches.add(item.id, found[item.id])
    rows, noticed = [], 0
    for name, constants in found.items():
        for constant, of in constants.items():
            outcomes = ", ".join(f"{key} %: {said}" for key, said in of["moved"].items())
            rows.append([name, constant, of["value"], outcomes])
            noticed += known.REFUTED in of["moved"].values()
    table(["claim", "constant", "value", "moved by"], rows, left_columns=4)
    echo(
        f"{say_count(len(rows), 'constant')} of {say_count(len(found), 'claim')}: "
        f"a change of {noticed} is refuted"
    )
