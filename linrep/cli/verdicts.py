"""Verdicts as the terminal shows them: listed, with reasons, beside those of the ledger."""

from __future__ import annotations

from collections import Counter
from textwrap import shorten

from linrep.cli.text import (
    echo,
    echo_text,
    print_listing,
    say_count,
    table,
    verdict,
    width,
    wrap,
)

_SHOWN = 20  # verdicts that contradict the ledger
_LONGEST = 160  # characters of a line on what was found, where there is no terminal


def print_list(chosen, entries):
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
    echo(*_say_verdicts(counts), "; linrep show ID prints the reason", err=True)


def print_verdicts(results, entries, verbose, budget, texts):
    """Print a table of results beside the ledger, why what does not hold does not, and counts.

    `texts` returns all that is known of a result's claim.
    """
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
    numbers = ("measured", "claimed", "trials", "CPU s")
    table((*head, *numbers), rows, left_columns=len(head))
    _reasons(results, verbose, texts)
    for item in results:
        if item.looked:
            echo(f"{item.id}: {item.looked}")
        if item.missing:
            echo(wrap(f"{item.id}: {item.missing}", "  "))
    echo("\n", *_say_verdicts(Counter(item.verdict for item in results)), f" ({budget} budget)")


def _say_verdicts(counts):
    """Return a sentence on verdicts, each in its colour."""
    from linrep.claims.evidence import tally

    return [verdict(name)._replace(text=text) for name, text in tally(counts)]


def _reasons(results, verbose, texts):
    """Say why what does not hold does not: in a line for each claim, or all that is known of it."""
    from linrep.claims.prose import unescaped
    from linrep.claims.record import failing_parts

    shown = [item for item in results if item.verdict != "holds" or (verbose and item.readings)]
    if shown:
        echo()
    for item in shown:
        if verbose:
            echo_text(texts(item))
            continue
        known = item.verdict not in ("holds", "undecided", "error") and item.finding
        several = "" if known else failing_parts(part.verdict for part in item.parts)
        needed = f"would take: {item.needed}" if item.needed else ""
        more = "; ".join(filter(None, [several, needed]))
        text = f"{unescaped(known.headline) if known else item.sentence}{f' ({more})' * bool(more)}"
        room = (width() or _LONGEST) - len(item.id) - len(item.verdict) - 3
        short = shorten(text, max(room, 40), placeholder=" …")
        echo(item.id, " ", verdict(item.verdict), ": ", short)
    if shown and not verbose:
        echo("-v prints all that was found; linrep show ID prints the statement with its parts")


def _control(item):
    if item.control is None:
        return "-"
    if not item.accepts_its_control:
        return "rejected"
    return "ACCEPTED" if item.control == "holds" else f"NOT REJECTED ({item.control})"


def name_accepting(results):
    """Name the checks that accept what is false; return whether there are any."""
    accepting = [item for item in results if item.accepts_its_control]
    for item in accepting:
        echo(
            f"{item.id}: its check does not reject its negative control ({item.control})", err=True
        )
    return bool(accepting)


def compare(results, known, entries):
    """Say how verdicts and numbers stand beside the ledger; return whether nothing contradicts it.

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
    others = [
        f"{item.id}: {line}"
        for item in results
        for line in book.differing(item, entries.get(item.id))
    ]
    for line in others[:_SHOWN]:
        echo(f"{line}; not as recorded", err=True)
    if len(others) > _SHOWN:
        echo(f"and {len(others) - _SHOWN} more numbers", err=True)
    gone = [name for name in entries if name not in known]
    for name in gone:
        echo(f"{name}: in the ledger, but no longer a claim", err=True)
    accepting = name_accepting(results)
    counts = [f"{outcomes.count(name)} {name}" for name in book.OUTCOMES if outcomes.count(name)]
    beside = ", beside the ledger" if entries else ""
    counts += [f"{say_count(len(others), 'number')} or strengths not as recorded"] * bool(others)
    there = [(item, entries[item.id]) for item in results if item.id in entries]
    elsewhere = sum(
        item.mode == "portable" and item.versions != entry.versions for item, entry in there
    )
    if elsewhere:
        echo(
            f"{say_count(elsewhere, 'claim')} recorded with other versions of libraries: "
            "numbers are compared within intervals alone"
        )
    echo(
        f"{len(results)} of {len(known)} claims checked, {portable.mode()} mode{beside}: "
        f"{', '.join(counts)}"
    )
    return not (wrong or others or gone or accepting)
