"""``linrep certify``: solvers on the inequalities that proofs and derivations use."""

from __future__ import annotations

import time

import click

from linrep._lib.papers import named
from linrep.cli import completion, names
from linrep.cli.group import BadInput, bad_input, main, recording
from linrep.cli.text import echo, say_count, table


@main.command()
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completion.claims)
@click.option(
    "--seconds",
    type=click.FloatRange(0.0, min_open=True),
    default=20.0,
    show_default=True,
    help="After which a solver gives up.",
)
@click.option(
    "--record", is_flag=True, help="Write the questions in SMT-LIB, and what is answered."
)
def certify(ids, seconds, record):
    """Have z3 and cvc5 decide inequalities of proofs, and evaluate counterexamples.

    Of all claims, or of some by id or pattern. Each inequality is a file in SMT-LIB beside the
    page of proofs, which any solver reads: "unsat" is the answer that proves it, as its negation is
    asked for. Each counterexample is a file of Python's standard library alone, in fractions. Exit
    status 1 if an inequality is not proved, is refuted, or has hypotheses that cannot be, or a
    counterexample is none.
    """
    with bad_input(ValueError):
        ids = names.match_spelling(ids, names.claims())
        names.check_claims(ids)
    from linrep.claims import certificates, claims, counterexamples, select, solvers

    examples = counterexamples.among(item.id for item in select(claims(named(ids)), ids))
    chosen = certificates.select(ids)
    if not chosen and not examples:
        raise BadInput("ID: no inequality for solvers and no counterexample is stored of these")
    versions = solvers.versions()
    for name, item in chosen.items():
        if not record and not item.is_stored():
            raise BadInput(f"{item.path} is not the question of {name}; --record writes it")
    began = time.perf_counter()
    said: dict[str, dict[str, str]] = {}
    possible: dict[str, bool] = {}
    by_claim: dict[str, list[str]] = {}
    for name, item in chosen.items():
        by_claim.setdefault(item.claim, []).append(name)

    def write(done):
        own = [name for claim in done for name in by_claim[claim]]
        answered = {name: said[name] for name in own}
        certificates.record(answered, {name: possible[name] for name in own}, versions)

    with (
        bad_input(RuntimeError, OSError),
        recording("certify", list(by_claim), write, record) as batches,
    ):
        for claim, own in by_claim.items():
            for name in own:
                question, hypotheses = chosen[name].smtlib(), chosen[name].hypotheses()
                said[name] = {each: solvers.ask(each, question, seconds) for each in versions}
                possible[name] = any(
                    solvers.ask(each, hypotheses, seconds) == certificates.POSSIBLE
                    for each in versions
                )
            batches.add(claim, own)
    proved = {
        name: sum(answer == certificates.PROVED for answer in answers.values())
        for name, answers in said.items()
    }
    false = [path for path in examples.values() if not counterexamples.is_one(path)]
    table(
        ["inequality", *versions, "hypotheses"],
        [
            [name, *answers.values(), "" if possible[name] else "not shown to be possible"]
            for name, answers in said.items()
        ],
        left_columns=4,
    )
    counts = [sum(count == number for count in proved.values()) for number in (2, 1, 0)]
    of = say_count(len({item.claim for item in chosen.values()}), "claim")
    echo(
        f"{len(said)} inequalities of {of}: {counts[0]} proved by both solvers, {counts[1]} by "
        f"one, {counts[2]} by none ({time.perf_counter() - began:.0f} s)"
    )
    echo(f"{say_count(len(examples), 'counterexample')} in fractions evaluated")
    for path in false:
        echo(f"{path} is none: its left side is not larger")
    refuted = any(certificates.REFUTED in answers.values() for answers in said.values())
    if refuted or counts[2] or false or not all(possible.values()):
        raise click.exceptions.Exit(1)
