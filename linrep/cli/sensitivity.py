"""``linrep sensitivity``: versions of claims that say more, and whether the checks notice."""

from __future__ import annotations

import click

from linrep._lib.records import Damaged
from linrep.cli import completion, names
from linrep.cli.choosing import choose
from linrep.cli.group import SEED_OPTION, BadInput, bad_input, main, recording
from linrep.cli.text import echo, say_count, table


@main.command()
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completion.claims)
@click.option(
    "--budget",
    type=click.Choice(["quick", "standard", "thorough"]),
    default="quick",
    show_default=True,
    help="Random draws of a check: for seconds, a minute or ten minutes.",
)
@SEED_OPTION
@click.option("--record", is_flag=True, help="Record the outcomes.")
def sensitivity(ids, budget, seed, record):
    """Strengthen the constants of statements, and find the smallest change that a check notices.

    Each constant and exponent of a statement is moved by 5, 10 and 50 % in the direction that makes
    the statement stronger, until the check refutes the result. Name claims by id or pattern;
    without a name, all claims that hold are taken.

    "accepted": the check does not notice the change. Either the statement is not sharp, or the
    check does not look where the stronger version is false. "doubted": the check is undecided.
    "true": interval arithmetic proves the stronger version over the whole region.
    """
    with bad_input(ValueError):
        ids = names.match_spelling(ids, names.claims())
        names.check_claims(ids)
    claims, _ = choose(ids)
    from linrep._lib.progress import JobsBar
    from linrep.claims import ledger, mutants
    from linrep.claims import sensitivity as known
    from linrep.claims.evidence import HOLDS, MISPRINT

    with bad_input(ValueError, OSError):
        entries = ledger.recorded()
    chosen = [
        item
        for item in claims
        if item.stronger and item.id in entries and entries[item.id].verdict in (HOLDS, MISPRINT)
    ]
    if not chosen:
        raise BadInput("ID: none of these claims holds and has constants that can be moved")
    if record:
        with bad_input(OSError, Damaged):
            known.check({item.paper for item in chosen})
    noticed: list[bool] = []

    def rows():
        with JobsBar(None, seconds, desc="sensitivity", unit="version") as bar:
            for item in chosen:
                found = mutants.measure(item, budget, seed, each=bar.done)
                batches.add(item.id, found)
                for constant, of in found.items():
                    noticed.append(known.REFUTED in of["moved"].values())
                    with bar.aside():
                        yield [item.id, constant, of["value"], _outcomes(of["moved"])]

    head = ["claim", "constant", "value", "moved by"]
    most = _outcomes({f"{float(100 * share):g}": known.ACCEPTED for share in mutants.SHARES})
    cells = [
        (item.id, name, str(item.value_of(name)), most) for item in chosen for name in item.stronger
    ]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    seconds = {each: entries[item.id].seconds for item in chosen for each in mutants.mutants(item)}
    with (
        bad_input(OSError, Damaged),
        recording("sensitivity", [item.id for item in chosen], known.record, record) as batches,
    ):
        table(head, rows(), left_columns=len(head), widths=widths)
    echo(
        f"{say_count(len(noticed), 'constant')} of {say_count(len(chosen), 'claim')}; "
        f"a change of the constant is refuted for {sum(noticed)}"
    )


def _outcomes(moved):
    return ", ".join(f"{percent} %: {said}" for percent, said in moved.items())
