"""The main job: figures and claims again, beside what is recorded, and whether they came out."""

from __future__ import annotations

import re
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, wait
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import click

from linrep.cli import Unfinished, bad_input, main, start_portable, workers_option
from linrep.cli.verify import contradiction

#: Where everything is written, beside what is recorded.
RESULTS = Path("runs", "reproduce")
#: Statements with a number of their own in a paper.
NUMBERED = re.compile(r"\b(Theorem|Lemma|Proposition|Corollary|Claim)\b")
_BUDGET, _SEED = "quick", 0
_SHOWN = 20  # verdicts that are not the recorded ones


@main.command()
@click.option(
    "--claims",
    "wanted",
    type=click.Choice(["numbered", "all"]),
    default="numbered",
    show_default=True,
    help="Theorems, lemmas, propositions and corollaries with their corrected forms, or all.",
)
@click.option(
    "--portable/--native",
    default=True,
    show_default=True,
    help="The same numbers on every x86-64-v3 processor, or as fast as this one can.",
)
@workers_option("Processes; the numbers do not depend on it.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=RESULTS,
    show_default=True,
    help="Folder for figures, checks and the report.",
)
def reproduce(wanted, portable, workers, out):
    """Draw the papers' figures and check their claims again; say whether the record came out.

    Figures are compared with the recorded ones, number by number; verdicts, of the quick budget,
    with the ledger. The exit status is 0 if everything was reproduced, 1 if not. Nothing recorded
    is changed. Interrupted, the same command goes on from there.
    """
    if portable:
        start_portable()
    from linrep import reproduction
    from linrep.claims import claims, ledger
    from linrep.sweeps.pool import process_pool

    began = time.perf_counter()
    with bad_input(ValueError, OSError):
        figures = reproduction.papers()
        expected = {
            name: reproduction.read_record(reproduction.RECORD, name)[0]["provenance"]["seconds"]
            for name in figures
        }
        out.mkdir(parents=True, exist_ok=True)
    known, entries = claims(), ledger.recorded()
    chosen = [item for item in known.values() if wanted == "all" or _is_numbered(item, known)]
    # A quick check takes about a tenth of the recorded one.
    expected |= {item.id: entries.get(item.id, {}).get("seconds", 0.0) / 10.0 for item in chosen}
    store, drawn = out / "verify", out / "figures"
    jobs: dict[str, tuple] = {
        name: (reproduction.again, name, reproduction.RECORD, drawn) for name in figures
    }
    jobs |= {item.id: (_check, item.id, str(store)) for item in chosen}
    with process_pool(workers) as pool:
        found = _run(pool, jobs, _order(expected), workers, out)
        page = _report(chosen, entries, store, drawn, out, pool)
    _figures({name: found[name] for name in figures})
    results = _results(chosen, store)
    compared = [found[name] for name in figures if not isinstance(found[name], str)]
    same = reproduction.together(compared) if compared else None
    if same is not None:
        click.echo(same.text())
    agreed = _verdicts(results, len(known), entries)
    good = agreed and same is not None and same.reproduced and len(compared) == len(figures)
    click.echo(f"report: {page}")
    click.echo(_last(good, same, len(figures), results, len(known), time.perf_counter() - began))
    if not good:
        raise click.exceptions.Exit(1)


def _is_numbered(item, known):
    """Tell whether a claim is a numbered statement, or the corrected form of one."""
    return bool(NUMBERED.search(known.get(item.corrects, item).place))


def _check(name, store):
    from linrep.claims.verify import compute

    compute(name, _BUDGET, _SEED, store, None)


def _order(expected):
    """Return the jobs, the longest first; but of each paper one first, as papers share few kernels.

    What one process has compiled the others load.
    """
    by_time = sorted(expected, key=lambda name: -expected[name])
    first: dict[str, str] = {}
    for name in by_time:
        first.setdefault(name.partition(".")[0], name)
    return list(dict.fromkeys([*first.values(), *by_time]))


def _run(pool, jobs, order, workers, out):
    """Run the jobs, and return what they return by name."""
    from linrep.sweeps.progress import progress_bar

    found: dict[str, Any] = {}
    flying: dict[Future, str] = {}
    waiting = list(order)
    with progress_bar(None, total=len(jobs), desc="reproduce", unit="job") as bar:
        try:
            while waiting or flying:
                while waiting and len(flying) < workers:
                    name = waiting.pop(0)
                    flying[pool.submit(*jobs[name])] = name
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    name = flying.pop(future)
                    found[name] = future.result()
                    bar.set_postfix_str(name)
                    bar.update()
        except KeyboardInterrupt:
            # What is finished is stored, replicates of figures too.
            for process in active_children():
                process.terminate()
            raise Unfinished(f"{out}: stopped at {len(found)} of {len(jobs)} jobs") from None
    return found


def _results(chosen, store):
    from linrep.claims.verify import stored

    found = (stored(item, budget=_BUDGET, seed=_SEED, store=store) for item in chosen)
    return [run.result for run in found if run is not None]


def _report(chosen, entries, store, figures, out, pool):
    """Write the report of all that was done, and return its path."""
    from linrep import _files as files
    from linrep.report import gather, render

    found = gather(
        chosen, ledger=entries, store=store, budget=_BUDGET, seed=_SEED, figures=figures,
        options=("--store", str(store)), executor=pool,
    )  # fmt: skip
    path = out / "report.html"
    files.write(path, render(found).encode())
    return path


def _figures(found):
    """Name the figures that failed."""
    for name, reason in found.items():
        if isinstance(reason, str):
            click.echo(f"{name} failed: {reason}", err=True)


def _verdicts(results, total, entries):
    """Show how verdicts stand beside the ledger; return whether none contradicts it."""
    from linrep.claims import ledger as book

    outcomes = {item.id: book.outcome(item, entries.get(item.id)) for item in results}
    counts = Counter(outcomes.values())
    click.echo(f"\n{len(results)} of {total} claims checked")
    for name in book.OUTCOMES:
        if counts[name]:
            click.echo(f"{counts[name]:5} {name}")
    wrong = [item for item in results if outcomes[item.id] == book.CONTRADICTS]
    for item in wrong[:_SHOWN]:
        click.echo(contradiction(item, entries.get(item.id)))
    if len(wrong) > _SHOWN:
        click.echo(f"and {len(wrong) - _SHOWN} more")
    return not wrong


def _last(good, same, figures, results, total, seconds):
    from linrep import _portable as portable

    rule = "no figure was drawn" if same is None else same.sentence().partition(": ")[2]
    return (
        f"{'REPRODUCED' if good else 'NOT reproduced'} in {seconds:.0f} s, {portable.mode()} mode: "
        f"{rule}; {len(results)} of {total} claims checked"
    )
