"""``linrep verify``: claims checked, and their verdicts beside the recorded ones."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from functools import partial
from math import inf

import click

from linrep._lib.papers import paper_of
from linrep._lib.papers import papers as known_papers
from linrep.cli import completion
from linrep.cli import names as known_names
from linrep.cli.group import (
    FILE,
    FOLDER,
    SEED_OPTION,
    BadInput,
    Batches,
    bad_input,
    interruptible,
    main,
    mode_option,
    recording,
    refuse_others,
    start_portable,
    workers_option,
)
from linrep.cli.names import LEDGER_OPTION, STORE_OPTION, choose, read_ledger, read_patterns
from linrep.cli.output import check_output, refuse_same, write_figure, write_file
from linrep.cli.text import echo, say_count, table
from linrep.cli.verdicts import compare, name_accepting, print_list, print_verdicts


@main.command()
@click.argument("ids", metavar="[ID|FILE.py]...", nargs=-1, shell_complete=completion.claims)
@click.option(
    "--budget",
    type=click.Choice(["quick", "standard", "thorough"]),
    default="quick",
    show_default=True,
    help="Random draws of a check: for seconds, a minute or ten minutes per claim.",
)
@workers_option("Number of processes; the verdicts do not depend on it.")
@SEED_OPTION
@STORE_OPTION
@click.option(
    "--list",
    "list_only",
    is_flag=True,
    help="List claims with their recorded verdicts, or else those of finished checks, and stop.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print all that was found about statements that do not hold.",
)
@click.option(
    "--verdict",
    "verdicts",
    multiple=True,
    type=click.Choice(["holds", "misprint", "depends", "fails", "vacuous", "undecided"]),
    help="Only claims with this verdict in the ledger, or else in a finished check; depends is on "
    "the reading.",
)
@click.option("--paper", "papers", multiple=True, help="Only claims of this paper.")
@click.option(
    "--printed", "form", flag_value="printed", help="Only statements that the papers print."
)
@click.option(
    "--corrected",
    "form",
    flag_value="corrected",
    help="Only corrected forms of statements that do not hold, which no paper prints.",
)
@click.option(
    "--own",
    "form",
    flag_value="own",
    help="Only other statements that no paper prints: questions and theorems of linrep's own.",
)
@click.option("--fresh", is_flag=True, help="Run finished checks again.")
@click.option(
    "--until-decided",
    is_flag=True,
    help="Continue undecided statistical checks with the next seeds. All looks at the data "
    "together keep to the error level.",
)
@click.option(
    "--at-most",
    metavar="SECONDS|Nx",
    help="Limit of --until-decided: a number of seconds, or N times the draws.  [default: 600]",
)
@click.option(
    "--level",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    help="Probability that the verdict of a claim is wrong by chance.  [default: 1% for 250 "
    "statistical claims together]",
)
@LEDGER_OPTION
@click.option(
    "--json", "path", type=FILE, help="Write the results to this file, as a list of objects."
)
@click.option(
    "--figures", type=FOLDER, help="Draw the measurements behind the verdicts into this folder."
)
@click.option("--caption", is_flag=True, help="Write statement and verdict under these pictures.")
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Strengthen the constants of claims that hold, and find the smallest change that a check "
    "notices.",
)
@click.option("--record", is_flag=True, help="Record the verdicts, or what --sensitivity found.")
@mode_option("portable with --record, native otherwise")
def verify(ids, list_only, papers, sensitivity, record, portable, **options):
    """Check statements and compare the verdicts with the record.

    A claim is a statement together with a check that can refute it; the ledger is the record of
    verdicts. Name claims by id or pattern ('fedrep.lemma*'), or name a file of your own. Without a
    name all claims are checked. linrep show ID prints a statement and the reason of its verdict.

    A claim of your own is expected to hold, unless the claim or your ledger says otherwise. Its
    check has to reject its negative control, which is a false version of the statement.

    With --sensitivity each constant and exponent of a statement is moved by 5, 10 and 50 % in the
    direction that says more, until the result is refuted. "true as well": solvers or interval
    arithmetic prove the stronger version. "not noticed": the check accepts it, and nothing proves
    it. "doubted": the check is undecided.

    The exit status is 0 if no verdict contradicts the recorded or expected one. It is 1 if a
    verdict does, if a check raises an error or accepts its negative control, or if a claim of the
    ledger no longer exists. It is 2 for bad input.
    """
    if sensitivity:
        wanted = ("ids", "budget", "seed", "sensitivity", "record")
        refuse_others(wanted, "does not go with --sensitivity")
        _find_sensitivity(ids, options["budget"], options["seed"], record)
        return
    book_path, path, figures = (options[name] for name in ("book_path", "path", "figures"))
    papers = known_names.match_spelling(papers, known_names.papers())
    file, _ = read_patterns(ids)
    if file is None:
        known_names.check_papers(papers)
    if record:
        _check_record(file, **options)
    limit = _read_limit(options["at_most"], options["until_decided"])
    refuse_same({"--json": path, "--figures": figures, "--ledger": book_path})
    check_output("--json", path)
    if record if portable is None else portable:
        start_portable()
    entries = read_ledger(file, book_path, record)
    chosen, file = choose(ids, texts=list_only, papers=papers)
    known = entries
    if list_only or options["verdicts"]:
        known = _add_stored(chosen, entries, options["store"], options["seed"])
    chosen = _filter(chosen, known, papers, **options)
    if list_only:
        print_list(chosen, known)
        return
    from linrep.claims import claims, contents, ledger, load_file
    from linrep.claims.record import of_claim

    for paper in {item.paper for item in chosen} if file is None else ():
        contents.check(paper, claims([paper]))
        ledger.check(known_papers()[paper].ledger)
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
    papers = {item.paper for item in chosen}
    there = load_file(file) if file else claims(papers)
    with _recording(there, entries, chosen, options["budget"], book_path, record) as each:
        results = _run(chosen, entries, file, limit, each, options)
    by_id = {item.id: item for item in chosen}

    def texts(result):
        found = {result.id: result}
        shown = of_claim(by_id[result.id], found, book_path, file) if file else result
        return shown.text(derivation=False)

    print_verdicts(results, entries, options["verbose"], options["budget"], texts)
    if path is not None:
        text = json.dumps([result.as_json() for result in results], indent=1)
        write_file(path, f"{text}\n".encode())
    for item, result in zip(chosen, results, strict=True) if figures is not None else ():
        if result.points is not None:
            _draw(item, result, figures / f"{item.id}.png", options["caption"])
    others = () if file else (name for name in known_names.claims() if paper_of(name) not in papers)
    agree = _say_recorded(results) if record else compare(results, {*there, *others}, entries)
    if not agree:
        raise click.exceptions.Exit(1)


def _find_sensitivity(ids, budget, seed, record):
    """Print what becomes of stronger versions of claims that hold, and record it if asked to."""
    if any(name.endswith(".py") for name in ids):
        raise BadInput("--sensitivity is for claims of papers, whose folders have its record")
    claims, _ = choose(ids)
    from linrep._lib.progress import JobsBar
    from linrep.claims import ledger, mutants
    from linrep.claims.evidence import HOLDS, MISPRINT

    if record:
        for home in {known_papers()[item.paper].ledger for item in claims}:
            ledger.check(home)
    entries = ledger.recorded()
    chosen = [
        item
        for item in claims
        if item.stronger and item.id in entries and entries[item.id].verdict in (HOLDS, MISPRINT)
    ]
    if not chosen:
        raise BadInput("ID: none of these claims holds and has constants that can be moved")
    noticed: list[bool] = []

    def rows():
        with JobsBar(None, seconds, desc="sensitivity", unit="version") as bar:
            for item in chosen:
                found = mutants.measure(item, budget, seed, each=bar.done)
                batches.add(item.id, found)
                for constant, of in found.items():
                    noticed.append(mutants.REFUTED in of["moved"].values())
                    with bar.aside():
                        yield [item.id, constant, of["value"], outcomes(of["moved"])]

    def outcomes(moved):
        return ", ".join(f"{percent} %: {said}" for percent, said in moved.items())

    head = ["claim", "constant", "value", "moved by"]
    most = outcomes({f"{float(100 * share):g}": mutants.ACCEPTED for share in mutants.SHARES})
    cells = [
        (item.id, name, str(item.value_of(name)), most) for item in chosen for name in item.stronger
    ]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    seconds = {each: entries[item.id].seconds for item in chosen for each in mutants.mutants(item)}
    with recording(
        "sensitivity", [item.id for item in chosen], ledger.record_sensitivity, record
    ) as batches:
        table(head, rows(), left_columns=len(head), widths=widths)
    echo(
        f"{say_count(len(noticed), 'constant')} of {say_count(len(chosen), 'claim')}; "
        f"a change of the constant is refuted for {sum(noticed)}"
    )


@contextmanager
def _recording(known, entries, chosen, budget, path, record):
    """Yield what puts each result into the ledger soon after it comes, None if that is not asked.

    Whatever ends the checks, those that were finished before are in the ledger.
    """
    if not record:
        yield None
        return
    from linrep.claims import inputs, ledger

    def write(results):
        with inputs.unwatched():
            ledger.record(results.values(), known, path)

    ledger.check_budget(chosen, entries, budget)
    homes = set(filter(None, (path or ledger.place(item.id) for item in chosen)))
    for home in homes:
        ledger.check(home)
    with Batches(write, stored=True) as found:

        def add(result):
            if result.verdict != "error":
                found.add(result.id, result)

        yield add
    gone = [name for name in entries if name not in known and (path or ledger.place(name) in homes)]
    for name in gone if found.written else ():
        echo(f"{name}: no longer a claim; it is removed from the ledger", err=True)


def _say_recorded(results):
    """Name the results that are not recorded, or should not hold; tell whether there is none."""
    raised = [item for item in results if item.verdict == "error"]
    for item in raised:
        echo(
            f"{item.id} is not recorded, since its check raised an error: {item.sentence}", err=True
        )
    return not name_accepting(results) and not raised


def _read_limit(at_most, until_decided):
    """Return where going on with more runs ends, None where it is not gone on."""
    if not until_decided:
        if at_most is not None:
            raise BadInput("--at-most needs --until-decided")
        return None
    text = at_most or "600"
    name = "times" if text.endswith("x") else "seconds"
    with suppress(ValueError):
        if 0.0 < (number := float(text.removesuffix("x"))) < inf:
            return {name: number, **({} if name == "seconds" else {"seconds": inf})}
    raise BadInput(f"--at-most must be seconds or a factor, such as 600 or 16x, got {text!r}")


def _check_record(file, *, book_path, level, until_decided, **_):
    """Refuse to record where there is no ledger to write, or not at its level."""
    if file is not None and book_path is None:
        raise BadInput("--record of claims of your own needs --ledger FILE")
    if level is not None:
        raise BadInput("--record uses the error level of the ledger: leave --level out")
    if until_decided:
        raise BadInput("--record uses the draws of one seed: leave --until-decided out")
    check_output("--ledger", book_path)


def _add_stored(chosen, entries, store, seed):
    """Return the ledger's entries, and of claims that have none what a store holds of them."""
    from linrep.claims.current import current

    results = {
        item.id: current(item, None, store=store, seed=seed).result
        for item in chosen
        if item.id not in entries
    }
    return {**entries, **{name: result for name, result in results.items() if result}}


def _filter(chosen, entries, papers, *, verdicts, form, **_):
    """Return the claims that have one of the verdicts, and so on, of those asked for."""
    known = [item for item in chosen if not verdicts or item.id in entries]
    remaining = [
        item
        for item in known
        if (not verdicts or entries[item.id].verdict.split()[0] in verdicts)
        and (not papers or item.paper in papers)
        and form in (None, item.form)
    ]
    if not remaining:
        raise BadInput(
            "no claim meets all conditions: linrep verify --list shows the verdicts of all"
        )
    return remaining


def _run(chosen, entries, file, limit, each, options):
    """Check claims, and return their results, in the order of the claims."""
    from linrep.claims import LEVEL
    from linrep.claims.sequential import until_decided
    from linrep.claims.verify import Interrupted
    from linrep.claims.verify import verify as run

    settings = {name: options[name] for name in ("budget", "seed", "workers", "store", "fresh")}
    settings |= {
        "file": file, "level": LEVEL if options["level"] is None else options["level"],
        # Of another budget they tell the order, too.
        "expected": {name: entry.seconds for name, entry in entries.items()},
    }  # fmt: skip
    with bad_input(ValueError, TypeError, OSError), interruptible(Interrupted):
        if limit is not None:
            return until_decided(chosen, **settings, **limit, say=partial(echo, err=True))
        if each is not None and file is None and settings["budget"] != "quick":
            each = _with_quick(run(chosen, **settings | {"budget": "quick"}), each)
        return run(chosen, **settings, each=each)


def _with_quick(results, each):
    """Return what gives each result the numbers of a quick run, with which reproduce compares."""
    from dataclasses import replace

    from linrep.claims.ledger import measured

    quick = {result.id: measured(result) for result in results}
    return lambda result: each(replace(result, quick=quick[result.id]))


def _draw(item, result, path, caption):
    """Draw the measurements behind a verdict."""
    import matplotlib.pyplot as plt

    from linrep.figures import plotting

    with plotting.style():
        figure = plotting.evidence(result.points)
        if caption:
            where = f" ({item.place})" if item.place else ""
            said = f"{result.verdict.capitalize()}: {result.sentence}."
            plotting.caption(figure, f"{item.id}{where}: {item.plain} {said}")
        write_figure(path, figure)
        plt.close(figure)
    echo(path)
