"""``linrep show``: what is known of a claim, a figure, an algorithm or a paper."""

from __future__ import annotations

import inspect
from functools import partial

import click

from linrep._lib.scripts import available
from linrep.cli import completion, names
from linrep.cli.axes import axis_section, without_markup
from linrep.cli.figures import size_lines
from linrep.cli.group import BadInput, main, refuse_others
from linrep.cli.names import check_store, choose, read_ledger, read_patterns
from linrep.cli.text import (
    Painted,
    echo,
    echo_text,
    print_listing,
    say_count,
    table,
    verdict,
    wrap,
)
from linrep.simulation.families import find
from linrep.simulation.parameters import outlines, required

_FEW = 20  # facts that are printed unasked
#: Of the parameters that have to be given, for an example.
_VALUES = {"n": 20, "d": 10, "k": 2, "p": 4}
_NEEDED = {"perfedsi": " --step_size 0.05"}  # where entries are drawn from a ground truth


@main.command()
@click.argument("ids", metavar="[ID|FILE.py]...", nargs=-1, shell_complete=completion.shown)
@click.option(
    "--note", is_flag=True, help="Print a note to the authors on what is wrong, in Markdown."
)
@click.option(
    "--cite",
    is_flag=True,
    help="Print BibTeX of papers, or of statements with their places in them; without a name, of "
    "linrep, its papers and its tools.",
)
@click.option(
    "--constants",
    is_flag=True,
    help="Print the constants that a paper's bounds leave open, against size, as finished checks "
    "of linrep verify have measured them.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print derivations, further measurements and every reading, too.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="AXIS=VALUE",
    help="Print the readings of a sentence that have this value alone, and how many of them hold; "
    "repeat it for other axes, or for further values of one.",
)
@names.runs_options
def show(ids, note, cite, constants, verbose, where, budget, seed, store, book_path):
    """Show a statement and why it fails; or a figure, algorithm, paper.

    Statements are named by id or pattern, or by a file of your own. The verdict is that of a
    finished check of linrep verify, or else the recorded one. A figure is shown with its sizes, an
    algorithm with its parameters, and a paper with all of its statements in order.
    """
    check_store(store)
    if cite:
        refuse_others(("ids", "cite"), "does not go with --cite")
        _cite(ids)
        return
    if not ids:
        raise BadInput("name what to show: a claim, paper, figure or algorithm")
    if constants:
        wanted = ("ids", "constants", "budget", "seed", "store")
        refuse_others(wanted, "does not go with --constants")
        _constants(ids, store, budget, seed)
        return
    of_file = any(name.endswith(".py") for name in ids)
    if not of_file:
        ids = names.match_spelling(ids, [*names.claims(), *available(), *outlines()])
    # What is a claim and a figure of it is both.
    claims = [name for name in ids if _kind(name) is None or (not of_file and names.is_claim(name))]
    if claims and not of_file:
        others = [*names.papers(), *available(), *outlines()]
        lists = "linrep verify --list and linrep figures --list list them"
        names.check_claims(claims, "no claim, paper, figure or algorithm", others, lists)
    if not claims:
        refuse_others(("ids", "verbose"), "is for claims")
    values = _values_of(where)
    shows = [partial(_kind(name), name) for name in ids if name not in claims]
    if claims:
        file, _ = read_patterns(claims)
        entries = read_ledger(file, book_path)
        chosen, file = choose(claims, texts=True)
        if note:
            if where:
                raise BadInput("--where does not go with --note")
            _notes(chosen)
            return
        for item in chosen:
            stored = {"store": store, "budget": budget, "seed": seed}
            recorded = entries.get(item.id)
            if values:
                shows.append(partial(_where, item, recorded, stored, values))
                continue
            shows.append(partial(_claim, item, recorded, stored, book_path, file, verbose))
            if not of_file and item.id in available():
                shows.append(partial(_figure, item.id))
    for place, each in enumerate(shows):
        if place:
            echo()
        each()


def _notes(chosen):
    """Print what is wrong with claims, each finding once."""
    from linrep.claims.pages import note
    from linrep.claims.prose import finding

    known = dict.fromkeys(filter(None, (finding(item.id) for item in chosen)))
    if not known:
        raise ValueError(
            "--note is for claims that do not hold: linrep verify --list shows the verdicts"
        )
    for each in known:
        echo(note(each))


def _cite(what):
    """Print what to cite: linrep and all, or papers, with the places of statements in them."""
    papers = names.papers()
    what = names.match_spelling(what, [*papers, *names.claims()])
    patterns = [name for name in what if name not in papers]
    names.check_claims(patterns, "no paper or claim")
    from linrep._lib.papers import named
    from linrep.claims import prose, select
    from linrep.claims.ledger import known

    notes: dict[str, list[str]] = {name: [] for name in (what or papers) if name in papers}
    for item in select(known(named(patterns)), patterns) if patterns else ():
        notes.setdefault(item.paper, []).append(prose.cited_as(item.id, item.place, item.form))
    entries = [
        prose.noted(prose.bibtex(name), "; ".join(own)) if own else prose.bibtex(name)
        for name, own in notes.items()
    ]
    around = [] if what else [prose.bibtex_of_linrep(), prose.bibtex_of_tools()]
    echo("\n".join([*around[:1], *entries, *around[1:]]).rstrip())


def _constants(ids, store, budget, seed):
    """Print the constants of bounds, from the smallest size to the largest, of finished checks."""
    ids = names.match_spelling(ids, names.papers())
    names.check_papers(ids)
    from linrep.claims import ledger
    from linrep.claims.current import current

    lines = []
    for name, item in ledger.known(ids).items():
        if "probability bound" not in item.kinds:
            continue
        run = current(item, None, store=store, budget=budget, seed=seed).run
        points = None if run is None else run.result.points
        if points is None or "along" not in points:
            continue
        groups = points.dropna(subset=["along"]).groupby(["part", "along"], sort=False)
        for (part, axis), line in groups:
            ends = (line["x"].min(), line["x"].max(), line["y"].min(), line["y"].max())
            lines.append((name, part, axis, *(f"{number:.4g}" for number in ends)))
    if lines:
        head = ("claim", "constant", "along", "from", "to", "smallest", "largest")
        table(head, lines, left_columns=3)
        return
    echo(f"{store} has no finished check of a bound with an open constant")
    for paper in ids:
        echo(f"linrep verify --paper {paper} checks all claims")
        for name in names.claims():
            if name.startswith(f"{paper}.") and name.endswith(".constants"):
                echo(f"the constants of its rates: linrep show {name}")


def _kind(name):
    """Return what shows a name that is no claim's, None for one."""
    if name in outlines():
        return _algorithm
    if name in names.papers():
        return _contents
    return _figure if name in available() else None


def _line(label, *parts):
    """Print a label and what belongs to it."""
    echo(f"  {label:10} ", *parts)


def _claim(item, recorded, stored, book, file, verbose):
    """Print a statement with all that is known of it."""
    from linrep.claims.current import current
    from linrep.claims.record import of_claim

    store = stored["store"]
    state = current(item, recorded, **stored)
    known = {} if state.result is None else {item.id: state.result}
    shown = of_claim(item, known, book, file) if file else known.get(item.id, item)
    echo_text(shown.text(latex=verbose, derivation=verbose))
    if state.run and recorded:
        numbers = [recorded.strength, *recorded.measured_and_claimed(), f"{recorded.budget} budget"]
        texts = "".join(f" · {each}" for each in filter(None, numbers))
        _line("ledger", verdict(recorded.verdict), texts)
    if state.result:
        _line("source", f"finished check in {store}" if state.run else "ledger")
    if state.damaged:
        _line("store", f"its check in {store} is damaged; linrep verify runs it again")
    if state.stale:
        _line("store", f"checked in {store} before code was edited; linrep verify checks again")
    if state.result:
        _parts(state.result.parts, verbose)
        _facts(state.result.facts, verbose)


def _values_of(where):
    """Return values by axis of texts "AXIS=VALUE"."""
    found: dict[str, list[str]] = {}
    for text in where:
        axis, sign, value = text.partition("=")
        if not sign:
            raise BadInput(f"--where takes AXIS=VALUE, got {text!r}")
        found.setdefault(axis.strip(), []).append(value.strip())
    return found


def _where(item, recorded, stored, values):
    """Print the readings of a statement that have these values, and how many hold, by part."""
    from linrep.claims.current import current
    from linrep.claims.evidence import tally

    result = current(item, recorded, **stored).result
    maps = {} if result is None else result.maps
    if not maps:
        raise BadInput(f"{item.id} has no map of readings")
    axes = dict.fromkeys(axis for each in maps.values() for axis in each.axes)
    if wrong := [axis for axis in values if axis not in axes]:
        raise BadInput(f"{item.id} has no axis {wrong[0]!r}, only {', '.join(axes)}")
    having = {name: each for name, each in maps.items() if set(values) <= set(each.axes)}
    if not having:
        raise BadInput(f"{item.id} has no part with all of these axes: {', '.join(values)}")
    for name, each in having.items():
        try:
            kept, counts = each.having(values), each.counts(values)
        except ValueError as error:
            raise BadInput(f"{item.id} has {error}") from None
        said = "".join(text for _, text in tally(counts, "reading"))
        excluded = sum(kept) - sum(counts.values())
        said += f"; the paper's words exclude {excluded} more" if excluded else ""
        echo(Painted(item.id, "title"), f" {name}".rstrip(), f": {said}")
        _readings(each, kept)


def _parts(parts, verbose):
    """Print the measurements that a verdict is made of, as a table; if asked for with instances."""
    from linrep.claims.evidence import instances, shown

    if not parts:
        return
    echo()
    head = "measurement", "verdict", "strength", "measured", "claimed", "low", "high", "trials"
    rows = []
    for part in parts:
        name = part.name or part.quantity or "-"
        numbers = [shown(part, key) for key in ("measured", "predicted", "low", "high")]
        strength = part.strength or "-"
        rows.append((name, verdict(part.verdict), strength, *numbers, str(part.n_trials)))
    table(head, rows, left_columns=3)
    for part in parts if verbose else ():
        for label, lines in instances(part).items():
            echo("\n", Painted(part.name or "-", "title"), f", {label}:")
            for line in lines:
                echo(wrap(f"  {line}", "  "))
        if part.map is not None:
            _readings(part.map, [True] * len(part.map.verdicts))


def _readings(found, kept):
    """Print readings of a sentence, each with its verdict and its number."""
    from linrep._lib.display import number

    rows = found.rows()[kept]
    echo()
    lines = [
        [
            *(row[axis] for axis in found.axes),
            verdict(row["verdict"]),
            "" if row["counted"] else "excluded",
            *([row["quantity"]] if "quantity" in row else []),
            *(number(row[name]) for name in ("estimate", "low", "high")),
        ]
        for row in rows.to_dict("records")
    ]
    named = ["quantity"] * ("quantity" in rows)
    head = (*found.axes, "verdict", "", *named, found.quantity or "number", "low", "high")
    table(head, lines, left_columns=len(head) - 3)


def _facts(facts, verbose):
    """Print numbers that decide nothing, if there are few or all are asked for."""
    from linrep.claims.pages import fact

    shown = facts if verbose or len(facts) <= _FEW else ()
    if facts:
        echo()
    for item in shown:
        echo(wrap(f"- {fact(item)}", "  "))
    if len(shown) < len(facts):
        echo(f"{say_count(len(facts), 'fact')} measured beside it: -v prints them")


def _figure(name):
    """Print what a figure is of, its sizes, and whether it is recorded."""
    from linrep.figures import experiment
    from linrep.figures.reproduction import RECORD, read_record, recorded

    item = experiment.load(name)
    known, state = item.id in recorded(), f"none in {RECORD}"
    if known:
        try:
            _, rows = read_record(RECORD, item.id)
            state = f"numbers {'' if rows is None else 'and rows '}are recorded"
        except (ValueError, OSError) as error:
            known, state = False, str(error)
    echo(Painted(item.id, "title"), f": {item.title}")
    _line("record", state)
    _line("replicates", f"{item.replicates} per cell; {item.quick_replicates} with --quick")
    if missing := item.missing():
        _line("needs", missing)
    _line("draw it", f"linrep figures {item.id} --quick")
    if known:
        _line("compare it", f"linrep figures {item.id} --check")
    if item.sizes is not None:
        echo()
        print_listing(size_lines(item.sizes.lines()))


def _algorithm(name):
    """Print what an algorithm does, and its axes."""
    family, function = outlines()[name]
    said = (inspect.getdoc(function) or "").partition("\n\n")[0]
    echo(Painted(name, "title"), f": {without_markup(said)}")
    groups = required(function, find(family))
    given = " ".join(f"--{group[0]} {_VALUES.get(group[0], 5)}" for group in groups)
    given += _NEEDED.get(name, "")
    _line("in Python", f"from {function.__module__} import {name}; help({name})")
    _line("sweep it", f"linrep sweep {name} {given}")
    if name in names.papers():
        _line("its paper", f"linrep verify --list --paper {name}")
    echo()
    print_listing(axis_section([name])[1])
    if name in names.papers():
        echo()
        _contents(name)


def _contents(paper):
    """Print what a paper states, in its order: verdicts, or why there is no claim."""
    from linrep.claims import contents

    if own := contents.known().get(paper):
        echo_text(str(own))
