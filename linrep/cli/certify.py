"""``linrep certify``: solvers on the inequalities that proofs and derivations use."""

from __future__ import annotations

import time

import click

from linrep._lib.papers import paper_of, papers
from linrep._lib.records import Damaged
from linrep.cli import completion, names
from linrep.cli.group import FOLDER, BadInput, bad_input, main, recording
from linrep.cli.names import choose
from linrep.cli.output import write_file
from linrep.cli.text import echo, say_count, table

_IMPOSSIBLE = "not shown to be satisfiable"


@main.command()
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completion.claims)
@click.option(
    "--seconds",
    type=click.FloatRange(0.0, min_open=True),
    default=20.0,
    show_default=True,
    help="Time limit of a solver for each question.",
)
@click.option("--record", is_flag=True, help="Put the answers into the papers' ledgers.")
@click.option("--export", type=FOLDER, help="Write the questions, in SMT-LIB, into this folder.")
def certify(ids, seconds, record, export):
    """Have SMT solvers prove the inequalities that proofs use.

    The solvers are z3 and cvc5, and the inequalities are in a few real variables. They are asked
    for the negation of each inequality; the answer "unsat" proves the inequality. --export writes
    these questions as files in the SMT-LIB language, which every SMT solver reads. Each
    counterexample is a file that evaluates both sides of a statement in fractions, with Python's
    standard library alone. Name claims by id or pattern; without a name, those of all claims are
    taken.

    The exit status is 1 if an inequality is refuted or not proved by any solver, if its hypotheses
    are not shown to be satisfiable, or if a counterexample does not violate its statement.
    """
    ids = names.match_spelling(ids, names.claims())
    names.check_claims(ids)
    chosen_claims, _ = choose(ids, texts=True)
    from linrep._lib.progress import JobsBar
    from linrep.claims import certificates, counterexamples, ledger, solvers
    from linrep.claims.record import PROVED, REFUTED

    examples = counterexamples.among(item.id for item in chosen_claims)
    chosen = certificates.select(ids)
    if not chosen and not examples:
        raise BadInput("ID: no inequality and no counterexample is stored for these claims")
    if record:
        for home in {papers()[paper_of(item.claim)].ledger for item in chosen.values()}:
            ledger.check(home)
    versions = solvers.versions()
    stored = ledger.known(map(paper_of, (item.claim for item in chosen.values())))
    for name, item in chosen.items():
        line = stored[item.claim].lines.get(item.step) if item.claim in stored else None
        if not record and (line is None or line["sha256"] != certificates.digest(item.smtlib())):
            echo(f"{name} is not in the ledger as it is now: --record puts it there", err=True)
        if export is not None:
            export.mkdir(parents=True, exist_ok=True)
            write_file(export / item.file, item.smtlib().encode())
    began = time.perf_counter()
    said: dict[str, dict[str, str]] = {}
    possible: dict[str, bool] = {}
    by_claim: dict[str, list[str]] = {}
    for name, item in chosen.items():
        by_claim.setdefault(item.claim, []).append(name)

    def write(done):
        own = {claim: {chosen[name].step: name for name in by_claim[claim]} for claim in done}
        ledger.record_answers(
            {
                claim: {step: said[name] for step, name in steps.items()}
                for claim, steps in own.items()
            },
            {
                claim: {step: possible[name] for step, name in steps.items()}
                for claim, steps in own.items()
            },
            versions,
        )

    def rows():
        with JobsBar(None, dict.fromkeys(chosen), desc="certify", unit="question") as bar:
            for claim, own in by_claim.items():
                for name in own:
                    question, hypotheses = chosen[name].smtlib(), chosen[name].hypotheses()
                    said[name] = {each: solvers.ask(each, question, seconds) for each in versions}
                    possible[name] = any(
                        solvers.ask(each, hypotheses, seconds) == certificates.POSSIBLE
                        for each in versions
                    )
                    bar.done(name)
                    with bar.aside():
                        yield [name, *said[name].values(), "" if possible[name] else _IMPOSSIBLE]
                batches.add(claim, own)

    head = ["inequality", *versions, "hypotheses"]
    answer = max(map(len, [*versions, solvers.UNKNOWN]))
    with (
        bad_input(RuntimeError, OSError, Damaged),
        recording("certify", list(by_claim), write, record) as batches,
    ):
        longest = max(map(len, [*chosen, *head]))
        widths = [longest, *(answer for _ in versions), len(_IMPOSSIBLE)]
        table(head, rows(), left_columns=len(head), widths=widths)
    proved = {
        name: sum(answer == PROVED for answer in answers.values()) for name, answers in said.items()
    }
    false = [path for path in examples.values() if not counterexamples.is_one(path)]
    counts = [sum(count == number for count in proved.values()) for number in (2, 1, 0)]
    of = say_count(len({item.claim for item in chosen.values()}), "claim")
    echo(
        f"{len(said)} inequalities of {of}: {counts[0]} proved by both solvers, {counts[1]} by "
        f"one, {counts[2]} by none ({time.perf_counter() - began:.0f} s)"
    )
    echo(f"{say_count(len(examples), 'counterexample')} evaluated in fractions")
    for path in false:
        echo(f"{path} is no counterexample: its left side is not larger")
    refuted = any(REFUTED in answers.values() for answers in said.values())
    if refuted or counts[2] or false or not all(possible.values()):
        raise click.exceptions.Exit(1)
