"""Commands that check claims: verify, constants."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from textwrap import shorten

import click

from linrep.cli import completion
from linrep.cli import names as known_names
from linrep.cli.group import (
    SEED_OPTION,
    BadInput,
    bad_input,
    interruptible,
    main,
    mode_option,
    start_portable,
    workers_option,
)
from linrep.cli.output import check_output, write_figure, write_file
from linrep.cli.text import (
    echo,
    frame,
    print_listing,
    table,
    verdict,
    width,
    wrap,
)

MODE_OPTION = mode_option(
    "The same numbers on every x86-64-v3 processor, given the same versions of the libraries, or "
    "as fast as this one can.  [default: portable with --record, native otherwise]"
)
STORE = Path("runs", "verify")
_SHOWN = 20  # verdicts that contradict the ledger
_FEW = 3  # failures whose measurement is printed beside the reason
_LONGEST = 160  # characters of a line on what was found, where there is no terminal
STORE_OPTION = click.option(
    "--store",
    type=click.Path(file_okay=False, path_type=Path),
    default=STORE,
    show_default=True,
    help="Folder of finished checks; what is there is not computed again.",
)


#: Of what shows finished checks and makes none.
RUNS_OPTION = click.option(
    "--budget",
    type=click.Choice(["quick", "standard", "thorough"]),
    help="Which stored runs to show.  [default: of each claim that of the largest budget]",
)
LEDGER_OPTION = click.option(
    "--ledger",
    "book_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The recorded verdicts of claims of your own; linrep verify --record writes them.",
)


def _options(command):
    for option in reversed(
        (
            click.option(
                "--budget",
                type=click.Choice(["quick", "standard", "thorough"]),
                default="quick",
                show_default=True,
                help="Seconds, a minute or ten minutes a claim.",
            ),
            workers_option("Processes; the verdicts do not depend on it."),
            SEED_OPTION,
            STORE_OPTION,
        )
    ):
        command = option(command)
    return command


@main.command()
@click.argument("ids", metavar="[ID|FILE.py]...", nargs=-1, shell_complete=completion.claims)
@_options
@click.option(
    "--list",
    "list_only",
    is_flag=True,
    help="List the claims with their verdicts, the ledger's or else the store's, and stop.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say all that was found of what does not hold.")
@click.option(
    "--verdict",
    "verdicts",
    multiple=True,
    type=click.Choice(["holds", "fails", "vacuous", "undecided"]),
    help="Only claims with this verdict in the ledger, or else in the store.",
)
@click.option("--paper", "papers", multiple=True, help="Only claims of this paper.")
@click.option(
    "--severity",
    "severities",
    multiple=True,
    type=click.Choice(["misprint", "constant", "proof step", "statement", "conclusion"]),
    help="Only claims whose failure concerns this.",
)
@click.option(
    "--strength",
    "strengths",
    multiple=True,
    type=click.Choice(["proved", "enumerated exactly", "statistical", "searched"]),
    help="Only claims whose verdict there is of this strength.",
)
@click.option("--fresh", is_flag=True, help="Measure anew, whatever is stored.")
@click.option(
    "--level",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    help="Probability of a false verdict that each claim is allowed.  [default: 1% in all for "
    "250 statistical ones]",
)
@LEDGER_OPTION
@click.option(
    "--json",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the results here, as a list of objects.",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Draw what the verdicts rest on into this folder.",
)
@click.option(
    "--record",
    is_flag=True,
    help="Make these verdicts the ledger's.",
)
@MODE_OPTION
def verify(
    ids, budget, workers, seed, store, list_only, verbose, verdicts, papers, severities, strengths,
    fresh, level, book_path, path, figures, record, portable,
):  # fmt: skip
    """Check claims of the papers: all, some by id or pattern, or a file's.

    A claim of your own is expected to hold unless it says otherwise or your ledger does, and its
    check has to reject its negative control. linrep show ID has the statement and the reason.

    The exit status is 0 if no verdict contradicts the one that is recorded or expected; 1 if one
    does, a check raised or accepts its negative control, or a claim of the ledger is gone; 2 for
    bad input.
    """
    papers = known_names.match_spelling(papers, known_names.papers())
    with bad_input(ValueError):
        if not any(name.endswith(".py") for name in ids):
            ids = known_names.match_spelling(ids, known_names.claims())
            known_names.check_claims(ids)
            known_names.check_papers(papers)
    if record if portable is None else portable:
        start_portable()
    chosen, file = choose(ids)
    from linrep.claims import claims, load_file
    from linrep.claims import ledger as book

    if record:
        _check_record(file, book_path, level)
    entries = read_ledger(file, book_path, record)
    known = entries
    if list_only or verdicts or strengths:
        known = _add_stored(chosen, entries, store, seed)
    chosen = _filter(
        chosen, known, verdicts=verdicts, strengths=strengths, papers=papers,
        severities=severities,
    )  # fmt: skip
    if list_only:
        _list(chosen, known)
        return
    _check_outputs(path, figures)
    results = _run(chosen, entries, file, budget, workers, seed, store, fresh, level)
    _print(results, entries, verbose, budget)
    with bad_input(OSError, ValueError):
        if path is not None:
            text = json.dumps([result.as_json() for result in results], indent=1)
            write_file(path, f"{text}\n".encode())
        if figures is not None:
            _draw(chosen, results, figures)
        if record:
            known = load_file(file) if file else claims()
            for name in entries.keys() - known.keys():
                echo(f"{name}: no claim any more, it leaves the ledger", err=True)
            book.record(results, known, book_path or book.PATH)
    if record:
        if _name_accepting(results):
            raise click.exceptions.Exit(1)
        return
    known = load_file(file) if file else _ids_beside(chosen)
    if not compare(results, known, entries):
        raise click.exceptions.Exit(1)


def _check_record(file, book_path, level):
    """Refuse to record where there is no ledger to write, or not at its level."""
    if file is not None and book_path is None:
        raise BadInput("--record of claims of your own needs --ledger FILE")
    if level is not None:
        raise BadInput("--record takes the ledger's level, leave --level out")
    if book_path is not None:
        with bad_input(OSError):
            check_output("--ledger", book_path)


def _check_outputs(path, figures):
    """Refuse what cannot be written to, before anything is checked."""
    if path is not None and figures is not None and path.resolve() == figures.resolve():
        raise BadInput(f"--json and --figures must differ, both are {str(path)!r}")
    with bad_input(OSError):
        if path is not None:
            check_output("--json", path)
        if figures is not None:
            figures.mkdir(parents=True, exist_ok=True)


def _ids_beside(chosen):
    """Return the ids of the claims there are: of the papers not loaded those of the ledger."""
    from linrep.claims import claims
    from linrep.claims.claim import paper_of

    papers = {item.paper for item in chosen}
    return {*claims(papers), *(n for n in known_names.claims() if paper_of(n) not in papers)}


@main.command()
@click.argument("paper", shell_complete=completion.papers)
@_options
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs", "figures"),
    show_default=True,
    help="Folder for the figures.",
)
def constants(paper, budget, workers, seed, store, out):
    """Estimate the absolute constants that a paper's bounds leave open, over scale."""
    (paper,) = known_names.match_spelling([paper], known_names.papers())
    with bad_input(ValueError):
        known_names.check_papers([paper])
    import pandas as pd

    from linrep.claims import claims, ledger

    with bad_input(ValueError):
        recorded = ledger.recorded()
        chosen = [
            item
            for item in claims([paper]).values()
            if item.id in recorded and "probability bound" in recorded[item.id].kinds
        ]
    with bad_input(OSError):
        out.mkdir(parents=True, exist_ok=True)
    results = _run(chosen, {}, None, budget, workers, seed, store)
    lines, pictures = [], {}
    for item, result in zip(chosen, results, strict=True):
        if result.verdict == "error":
            echo(f"{item.id}: {result.sentence}", err=True)
            continue
        points = result.points
        if points is None or "along" not in points:
            continue
        chart = pictures[item.id] = points.dropna(subset=["along"])
        for (part, axis), line in chart.groupby(["part", "along"], sort=False):
            lines.append(
                {"claim": item.id, "constant": part, "along": axis,
                 "from": line["x"].min(), "to": line["x"].max(),
                 "smallest": line["y"].min(), "largest": line["y"].max()}
            )  # fmt: skip
    if not lines:
        echo(f"{paper}: no bound that is checked along an axis leaves a constant open")
        for name in known_names.claims():
            if name.startswith(f"{paper}.") and name.endswith(".constants"):
                echo(f"how large those of its rates are: linrep show {name}")
        return
    frame(pd.DataFrame(lines), digits=4)
    with bad_input(OSError):
        for name, chart in pictures.items():
            echo(_save(out, f"{name}.constants", chart, f"{name}, {budget} budget"))


def check_store(store):
    """Refuse a store that is named and not there: nothing is computed where it is only shown."""
    if store != STORE and not store.is_dir():
        raise BadInput(f"--store: there is no folder {store}")


def read_ledger(file, path, made=False):
    """Return the recorded verdicts: linrep's, or of a file of claims those at a path, if any.

    A path has to be there, unless its ledger is about to be made.
    """
    from linrep.claims import ledger as book

    if file is None and path is not None:
        raise BadInput("--ledger is for claims of your own: name their file")
    with bad_input(OSError, ValueError):
        if path is not None and not made and not path.is_file():
            raise ValueError(
                f"--ledger: no such file: {path}; linrep verify {file} --ledger {path} --record "
                "makes it"
            )
        return book.recorded(path) if path else {} if file else book.recorded()


def choose(names):
    """Return the claims that ids, patterns or a file of claims name, and that file or None."""
    files = [name for name in names if name.endswith(".py")]
    patterns = [name for name in names if not name.endswith(".py")]
    with bad_input(ValueError):
        if len(files) > 1:
            raise ValueError(f"give one file of claims at a time, got {' and '.join(files)}")
        for name in files:
            if not Path(name).is_file():
                raise ValueError(f"no such file: {name}")
            known_names.check_file(name)
        if not files:
            patterns = known_names.match_spelling(patterns, known_names.claims())
            known_names.check_claims(patterns)
    from linrep.claims import claims, load_file, select

    with bad_input(ValueError, TypeError, OSError):
        file = files[0] if files else None
        if file:
            return select(load_file(file), patterns), file
        papers = {pattern.partition(".")[0] for pattern in patterns}
        known = claims(papers if papers <= {*known_names.papers()} else ())
        return select(known, patterns), file


def _add_stored(chosen, entries, store, seed):
    """Return the ledger's entries, and of claims that have none what a store holds of them."""
    from linrep.claims.current import current

    with bad_input(OSError, ValueError):
        results = {
            item.id: current(item, None, store=store, seed=seed).result
            for item in chosen
            if item.id not in entries
        }
    return {**entries, **{name: result for name, result in results.items() if result}}


def _filter(chosen, entries, *, verdicts, strengths, papers, severities):
    """Return the claims that have one of the verdicts, and so on, of those asked for."""
    from linrep.claims.findings import findings

    known = findings() if severities else {}
    remaining = [
        item
        for item in chosen
        if (not verdicts or (item.id in entries and entries[item.id].verdict in verdicts))
        and (not strengths or (item.id in entries and entries[item.id].strength in strengths))
        and (not papers or item.paper in papers)
        and (not severities or (item.id in known and known[item.id].severity in severities))
    ]
    if not remaining:
        raise BadInput("no claim is left: --list shows them with their verdicts")
    return remaining


def _run(chosen, entries, file, budget, workers, seed, store, fresh=False, level=None):
    from linrep.claims import LEVEL
    from linrep.claims.verify import Interrupted
    from linrep.claims.verify import verify as run

    # Of another budget they tell the order, too.
    seconds = {name: entry.seconds for name, entry in entries.items()}
    with bad_input(ValueError, TypeError, OSError), interruptible(Interrupted):
        return run(
            chosen, budget=budget, seed=seed, workers=workers, store=store, file=file,
            expected=seconds, fresh=fresh, level=LEVEL if level is None else level,
        )  # fmt: skip


def _list(chosen, entries):
    """Print a line for each claim, and how to go on."""
    rows = []
    for item in chosen:
        result = entries.get(item.id)
        strength = result.strength if result else ""
        rows.append(
            (item.id, verdict(result.verdict if result else "-"), strength or "-", item.plain)
        )
    print_listing(rows)
    counts = Counter(
        entries[item.id].verdict if item.id in entries else "unchecked" for item in chosen
    )
    echo(*_say_verdicts(counts), "; linrep show ID has the reason", err=True)


def _print(results, entries, verbose, budget):
    from linrep.claims.evidence import shown

    controls = any(item.control is not None for item in results)
    columns = {
        "claim": True, "verdict": True, "ledger": bool(entries), "strength": True,
        "control": controls,
    }  # fmt: skip
    head = tuple(name for name, there in columns.items() if there)
    rows = [
        (
            item.id, verdict(item.verdict),
            *((entries[item.id].verdict if item.id in entries else "-",) if entries else ()),
            item.strength or "-",
            *((_control(item),) if controls else ()),
            shown(item, "measured"), shown(item, "predicted"), str(item.n_trials),
            "stored" if item.stored else f"{item.seconds:.1f}",
        )
        for item in results
    ]  # fmt: skip
    table((*head, "measured", "claimed", "trials", "CPU s"), rows, left=len(head))
    _reasons(results, verbose)
    echo("\n", *_say_verdicts(Counter(item.verdict for item in results)), f" ({budget} budget)")


def _say_verdicts(counts):
    """Return a sentence on verdicts, each in its colour."""
    from linrep.claims.evidence import tally

    return [verdict(name)._replace(text=text) for name, text in tally(counts)]


def _reasons(results, verbose):
    """Say why what does not hold does not: in a line for each claim, or all of it."""
    from linrep.claims.findings import findings
    from linrep.claims.ledger import failing_parts, largest_failure, readings
    from linrep.claims.sections import unescaped

    why = findings()
    cut = False
    lines = []
    for item in results:
        if item.verdict == "holds" and not item.readings:
            continue
        known = item.verdict in ("fails", "vacuous") and item.id in why
        reason = unescaped(why[item.id].headline) if known else item.sentence
        in_parts = verbose or not known
        several = failing_parts(part.verdict for part in item.parts) if in_parts else ""
        most = largest_failure(item)
        needed = f"would take: {item.needed}" if item.needed else ""
        largest = f"largest failure: {most}" if most and not known else ""
        more = "; ".join(filter(None, [several, largest, needed]))
        text = f"{reason} ({more})" if more else reason
        others = readings(item)
        if verbose:
            echo("\n", item.id, " ", verdict(item.verdict), ": ", wrap(text, "  "))
            if known:
                _print_measured(item)
            for line in others:
                echo("  ", wrap(line, "  "))
        elif item.verdict != "holds":
            room = (width() or _LONGEST) - len(item.id) - len(item.verdict) - 3
            short = shorten(text, max(room, 40), placeholder=" …")
            cut = cut or bool(others) or short != " ".join(text.split())
            lines.append(((item.id, " ", verdict(item.verdict), ": ", short), known and item))
    if lines:
        echo()
    for parts, explained in lines:
        echo(*parts)
        if explained and len(lines) <= _FEW:
            _print_measured(explained)
    if cut:
        echo("-v prints all that was found; linrep show ID the statement, its parts and readings")


def _print_measured(item):
    from linrep.claims.ledger import largest_failure

    echo("  measured: ", wrap(item.sentence, "  "))
    if most := largest_failure(item):
        echo("  largest failure: ", wrap(most, "  "))


def _control(item):
    if item.control is None:
        return "-"
    if not item.accepts_its_control:
        return "rejected"
    return "ACCEPTED" if item.control == "holds" else f"NOT REJECTED ({item.control})"


def _name_accepting(results):
    """Name the checks that accept what is false; return whether there are any."""
    accepting = [item for item in results if item.accepts_its_control]
    for item in accepting:
        echo(
            f"{item.id}: its check does not reject its negative control ({item.control})", err=True
        )
    return bool(accepting)


def compare(results, known, entries):
    """Say how verdicts stand beside the ledger; return whether none of them contradicts it.

    `known` are the ids of the claims that there are, checked or not: one that is in the ledger
    alone is a difference, too.
    """
    from linrep._lib import portable
    from linrep.claims import HOLDS
    from linrep.claims import ledger as book

    outcomes = [
        book.outcome(item.verdict, item.budget, entries.get(item.id), item.expected)
        for item in results
    ]
    wrong = [item for item, outcome in zip(results, outcomes, strict=True) if outcome in book.WRONG]
    for item in wrong[:_SHOWN]:
        held = "to hold" if item.expected == HOLDS else f"with the verdict {item.expected!r}"
        expected = f"{'it is not in the ledger, and ' if entries else ''}expected {held}"
        if item.id in entries:
            expected = f"the ledger has {entries[item.id].verdict}"
        echo(f"{item.id}: {item.verdict}, {expected}", err=True)
    if len(wrong) > _SHOWN:
        echo(f"and {len(wrong) - _SHOWN} more", err=True)
    gone = [name for name in entries if name not in known]
    for name in gone:
        echo(f"{name}: it is in the ledger, and no claim any more", err=True)
    accepting = _name_accepting(results)
    counts = [f"{outcomes.count(name)} {name}" for name in book.OUTCOMES if outcomes.count(name)]
    beside = ", beside the ledger" if entries else ""
    echo(
        f"{len(results)} of {len(known)} claims checked, {portable.mode()} mode{beside}: "
        f"{', '.join(counts)}"
    )
    return not (wrong or gone or accepting)


def _draw(chosen, results, folder):
    for item, result in zip(chosen, results, strict=True):
        if result.points is not None:
            where = f" ({item.place})" if item.place else ""
            verdict = f"{result.verdict.capitalize()}: {result.sentence}."
            text = f"{item.id}{where}: {item.plain} {verdict}"
            echo(_save(folder, item.id, result.points, text))


def _save(folder, name, points, text):
    import matplotlib.pyplot as plt

    from linrep.figures import plotting

    path = folder / f"{name}.png"
    with plotting.style():
        figure = plotting.evidence(points)
        plotting.caption(figure, text)
        write_figure(path, figure)
        plt.close(figure)
    return path
