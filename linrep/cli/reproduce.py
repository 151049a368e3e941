"""The main job: figures and claims again, beside what is recorded, and whether they came out."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from linrep._lib import papers
from linrep._lib.progress import say_stopped
from linrep.cli.group import (
    FOLDER,
    Unfinished,
    bad_input,
    interruptible,
    loading,
    main,
    mode_option,
    start_portable,
    workers_option,
)
from linrep.cli.text import Painted, echo, say_count
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
        from linrep.figures import reproduction
        from linrep.sweeps.workers import WorkerEnded, WorkerPool

        known = claims(papers.own())
    with bad_input(ValueError, OSError):
        figures = reproduction.papers()
        expected = {
            name: reproduction.read_record(reproduction.RECORD, name)[0]["provenance"]["seconds"]
            for name in figures
        }
        out.mkdir(parents=True, exist_ok=True)
        entries = ledger.recorded(ledger.PATH)
    chosen = [item for item in known.values() if wanted == "all" or _is_numbered(item, known)]
    # A quick check takes about a tenth of the recorded one.
    seconds = {name: entry.seconds / 10.0 for name, entry in entries.items()}
    expected |= {item.id: seconds.get(item.id, 0.0) for item in chosen}
    store, drawn = out / "verify", out / "figures"
    before = _count_finished(figures, chosen, store, drawn)
    if before:
        echo(f"{say_count(before, 'job')} in {out}, finished before by the same code", err=True)
    jobs: dict[str, tuple] = {
        name: (reproduction.again, name, reproduction.RECORD, drawn) for name in figures
    }
    jobs |= {item.id: (_check, item.id, str(store)) for item in chosen}
    returned: dict[str, Any] = {}
    with bad_input(ValueError, OSError), interruptible(), WorkerPool(workers) as pool:
        try:
            _run(pool, {name: jobs[name] for name in _order(expected)}, returned, expected)
            for name, reason in returned.items():
                if isinstance(reason, WorkerEnded):
                    drawing = name in figures
                    returned[name] = str(reason) if drawing else _given_up(name, store, reason)
            runs = {item.id: returned[item.id] for item in chosen}
            page = _report(chosen, entries, store, drawn, out, pool, runs)
        except WorkerEnded:  # while a picture was drawn
            page = _report(chosen, entries, store, drawn, out, None, runs)
        except KeyboardInterrupt:
            # What is finished is stored, replicates of figures too.
            pool.end()
            said = say_stopped(len(returned), len(jobs), "jobs")
            raise Unfinished(f"{out}: {said}") from None
    _figures({name: returned[name] for name in figures})
    results = [run.result for run in runs.values()]
    compared = [returned[name] for name in figures if not isinstance(returned[name], str)]
    same = reproduction.together(compared) if compared else None
    if same is not None:
        echo(f"{same.text()}\n")
    agreed = compare(results, known, entries)
    again = _as_recorded(results, entries)
    # What is undecided contradicts nothing, and reproduces nothing either.
    good = (
        agreed
        and 2 * again >= len(results)
        and same is not None
        and same.reproduced
        and len(compared) == len(figures)
    )
    echo(f"report: {page}")
    counts = f"{len(results)} of {len(known)} claims checked, {again} as recorded"
    echo(
        Painted(
            _last(good, same, counts, time.perf_counter() - began), "holds" if good else "fails"
        )
    )
    if not good:
        raise click.exceptions.Exit(1)


def _count_finished(figures, chosen, store, drawn):
    """Count the jobs that another call has finished, by the same code."""
    from linrep.figures import computing, experiment, reproduction

    runs = drawn / computing.RUNS
    done = sum(_is_stored(item, store) for item in chosen)
    if runs.is_dir():
        for name in figures:
            manifest, _ = reproduction.read_record(reproduction.RECORD, name)
            seed = manifest["result"]["settings"]["seed"]
            done += computing.is_finished(experiment.load(name), runs, seed=seed)
    return done


def _is_numbered(item, known):
    """Tell whether a claim is a numbered statement, or the corrected form of one."""
    return bool(NUMBERED.search(known.get(item.corrects, item).place))


def _check(name, store):
    """Check a claim, and return what is stored of it: what a worker process does."""
    from linrep.claims.verify import compute

    compute(name, _BUDGET, _SEED, store, None)
    return _stored(name, store)


def _given_up(name, store, reason):
    """Store that a check has ended its process, and return that as what is stored of it."""
    from linrep.claims.verify import give_up

    give_up(name, _BUDGET, _SEED, store, reason)
    return _stored(name, store)


def _stored(name, store):
    from linrep.claims.claim import registered
    from linrep.claims.verify import stored

    run = stored(registered(name), budget=_BUDGET, seed=_SEED, store=store)
    if run is None:
        raise ValueError(f"{name}: the code was changed while it was checked")
    return run


def _as_recorded(results, entries):
    """Count the verdicts that the ledger has, too."""
    return sum(item.id in entries and item.verdict == entries[item.id].verdict for item in results)


def _order(expected):
    """Return the jobs, the longest first; but of each paper one first, as papers share few kernels.

    What one process has compiled the others load.
    """
    by_time = sorted(expected, key=lambda name: -expected[name])
    first: dict[str, str] = {}
    for name in by_time:
        first.setdefault(name.partition(".")[0], name)
    return list(dict.fromkeys([*first.values(), *by_time]))


def _run(pool, jobs, results, expected):
    """Run the jobs, and put what they return into `found`, by name."""
    from linrep._lib.progress import JobsBar
    from linrep.sweeps.workers import run_jobs

    with JobsBar(
        None, {name: expected[name] for name in jobs}, desc="reproduce", unit="job"
    ) as bar:
        for name, returned in run_jobs(pool, jobs):
            results[name] = returned
            bar.done(name)


def _is_stored(item, store):
    from linrep.claims.verify import stored

    with suppress(ValueError, OSError):  # begun, and not yet a run directory
        run = stored(item, budget=_BUDGET, seed=_SEED, store=store)
        return run is not None and run.result.verdict != "error"
    return False


def _report(chosen, entries, store, figures, out, pool, runs=None):
    """Write the report of all that was done, and return its path."""
    from linrep._lib import atomic as files
    from linrep.report import gather, render

    report = gather(
        chosen, ledger=entries, store=store, budget=_BUDGET, seed=_SEED, figures=figures,
        options=("--store", str(store)), executor=pool, runs=runs,
    )  # fmt: skip
    path = out / "report.html"
    files.write(path, render(report).encode())
    return path


def _figures(results):
    """Name the figures that failed."""
    for name, reason in results.items():
        if isinstance(reason, str):
            echo(f"{name} failed: {reason}", err=True)


def _last(good, same, claims, seconds):
    from linrep._lib import portable

    rule = "no figure was drawn" if same is None else same.extent()
    return (
        f"{'REPRODUCED' if good else 'NOT reproduced'} in {seconds:.0f} s, {portable.mode()} mode: "
        f"{rule}; {claims}"
    )
