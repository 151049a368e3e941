"""The main job: figures and claims again, beside what is recorded, and whether they came out."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click

from linrep._lib import papers
from linrep._lib.progress import say_stopped
from linrep.cli.group import (
    FOLDER,
    Unfinished,
    interruptible,
    loading,
    main,
    mode_option,
    start_portable,
    workers_option,
)
from linrep.cli.text import Painted, echo
from linrep.cli.verdicts import compare

#: Where everything is written, beside what is recorded.
RESULTS = Path("runs", "reproduce")
#: Statements with a number of their own in a paper.
NUMBERED = re.compile(r"\b(Theorem|Lemma|Proposition|Corollary|Claim)\b")
_BUDGET, _SEED = "quick", 0


@main.command()
@click.option(
    "--claims",
    "wanted",
    type=click.Choice(["numbered", "all"]),
    default="numbered",
    show_default=True,
    help="Check theorems, lemmas, propositions and corollaries with their corrected forms, or all "
    "claims.",
)
@mode_option("portable")
@workers_option("Number of processes; the numbers do not depend on it.")
@click.option(
    "--out",
    type=FOLDER,
    default=RESULTS,
    show_default=True,
    help="Folder for figures, checks and the report.",
)
def reproduce(wanted, portable, workers, out):
    """Draw all figures and check all theorems again, beside the record.

    Figures are compared number by number. Verdicts are compared with the ledger, the record of
    verdicts; the checks take few random draws (the quick budget). The exit status is 0 if
    everything is as recorded, and 1 if not. The record is not changed. After an interruption, the
    same command continues. Finished work is computed again only if the code has changed, or with
    another --out.
    """
    if portable is not False:
        start_portable()
    began = time.perf_counter()
    with loading("figures and checks"):
        from linrep.claims import claims, ledger
        from linrep.claims.verify import Interrupted, verify
        from linrep.figures import reproduction

        known = claims(papers.own())
    figures = {
        name: reproduction.read_record(reproduction.RECORD, name)[0]["provenance"]["seconds"]
        for name in reproduction.papers()
    }
    out.mkdir(parents=True, exist_ok=True)
    entries = {name: item for name, item in ledger.recorded().items() if item.paper in papers.own()}
    chosen = [item for item in known.values() if wanted == "all" or _is_numbered(item, known)]
    store, drawn = out / "verify", out / "figures"
    with interruptible(Interrupted):
        compared = _draw(figures, drawn, workers)
        # A quick check takes about a tenth of the recorded one.
        expected = {name: entry.seconds / 10.0 for name, entry in entries.items()}
        settings = {"budget": _BUDGET, "seed": _SEED, "store": store, "workers": workers}
        results = verify(chosen, expected=expected, **settings)
        page = _report(chosen, entries, store, drawn, out)
    for name, reason in compared.items():
        if isinstance(reason, str):
            echo(f"{name} failed: {reason}", err=True)
    whole = [item for item in compared.values() if not isinstance(item, str)]
    same = reproduction.together(whole) if whole else None
    if same is not None:
        echo(f"{same.text()}\n")
    agreed = compare(results, known, entries)
    again = sum(item.id in entries and item.verdict == entries[item.id].verdict for item in results)
    # What is undecided contradicts nothing, and reproduces nothing either.
    good = (
        agreed
        and 2 * again >= len(results)
        and same is not None
        and same.reproduced
        and len(whole) == len(figures)
    )
    echo(f"report: {page}")
    counts = f"{len(results)} of {len(known)} claims checked, {again} as recorded"
    line = _last(good, same, counts, time.perf_counter() - began)
    echo(Painted(line, "holds" if good else "fails"))
    if not good:
        raise click.exceptions.Exit(1)


def _is_numbered(item, known):
    """Tell whether a claim is a numbered statement, or the corrected form of one."""
    return bool(NUMBERED.search(known.get(item.corrects, item).place))


def _draw(figures, out, workers):
    """Draw figures again, each in a process; return how each compares, or why it failed."""
    from linrep._lib.progress import JobsBar
    from linrep.figures import reproduction
    from linrep.sweeps.workers import WorkerEnded, WorkerPool, run_jobs

    longest_first = sorted(figures, key=lambda name: -figures[name])
    jobs = {name: (reproduction.again, name, reproduction.RECORD, out) for name in longest_first}
    compared: dict[str, Any] = {}
    with WorkerPool(workers) as pool, JobsBar(None, figures, desc="figures", unit="figure") as bar:
        try:
            for name, found in run_jobs(pool, jobs):
                compared[name] = str(found) if isinstance(found, WorkerEnded) else found
                bar.done(name)
        except KeyboardInterrupt:  # what is finished is stored, replicates of figures too
            pool.end()
            said = say_stopped(len(compared), len(figures), "figures")
            raise Unfinished(f"{out}: {said}") from None
    return {name: compared[name] for name in figures}


def _report(chosen, entries, store, figures, out):
    """Write the report of all that was done, and return its path."""
    from linrep._lib import atomic as files
    from linrep.report import gather, render

    report = gather(
        chosen, ledger=entries, store=store, budget=_BUDGET, seed=_SEED, figures=figures,
        options=("--store", str(store)),
    )  # fmt: skip
    path = out / "report.html"
    files.write(path, render(report).encode())
    return path


def _last(good, same, claims, seconds):
    from linrep._lib import portable

    rule = "no figure was drawn" if same is None else same.extent()
    return (
        f"{'REPRODUCED' if good else 'NOT reproduced'} in {seconds:.0f} s, {portable.mode()} mode: "
        f"{rule}; {claims}"
    )
