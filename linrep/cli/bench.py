"""The command ``linrep bench``."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from linrep._lib.extras import installed
from linrep.cli.group import BadInput, bad_input, main
from linrep.cli.text import echo

#: Those of linrep.bench.results, which would load much for the command's help alone.
NAMES = (
    "fedrep", "gram", "flute", "pflmf", "imc", "estimators", "distance", "sweeps", "startup",
    "scaling", "deep",
)  # fmt: skip


def refuse_load():
    """Refuse to begin where others at work would make times longer than they need be."""
    if not hasattr(os, "getloadavg"):
        return
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 0.5 * cores:
        raise BadInput(
            f"--out: the load is {load:.2f}, more than half of the {cores} cores; results are "
            "stored of an idle machine only"
        )


@main.command()
@click.argument("what", nargs=-1, type=click.Choice((*NAMES, "all")))
@click.option("--sizes", help="Sizes of the benchmark fedrep, separated by commas.  [default: all]")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Write the results of each benchmark, with a description of the machine, to this folder.",
)
def bench(what, sizes, out):
    """Time kernels against NumPy and JAX, simulated batches against sampled ones, and more.

    Without a name, all benchmarks run. The exit status is 1 if implementations of the same
    computation give different numbers.
    """
    from linrep.bench import results
    from linrep.bench.timing import has_jax

    everything = not what or "all" in what
    names = list(NAMES) if everything else list(dict.fromkeys(what))
    os.environ["PYTHONSAFEPATH"] = "1"  # for processes that libraries beside linrep start
    without_torch = "deep" in names and not installed("torch")
    if without_torch:
        if not everything:
            raise BadInput("bench deep needs torch: pip install 'linrep[deep]'")
        names.remove("deep")
    options: dict[str, dict[str, Any]] = {name: {} for name in names}
    if sizes is not None:
        from linrep.bench.fedrep import parse_sizes

        if names != ["fedrep"]:
            raise BadInput("--sizes needs the benchmark fedrep, and no other")
        with bad_input(ValueError):
            options["fedrep"]["sizes"] = parse_sizes(sizes)
    if out is not None:
        refuse_load()
        with bad_input(OSError):
            out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise BadInput(f"--out: {out} cannot be written")
        with bad_input(ValueError):
            for name in names:
                results.runs(out / f"{name}.json")
    for key, value in results.machine().items():
        echo(f"{key:12} {value}")
    if not has_jax():
        echo("JAX was not found and is left out; pip install 'linrep[bench]' brings it")
    if without_torch:
        echo("deep is left out: it needs torch; pip install 'linrep[deep]' brings it")
    agree = True
    for name in names:
        about = results.machine(name)
        keep = None if out is None else partial(results.store, out, name, about)
        with bad_input(OSError):
            records = results.run(name, click.echo, keep, **options[name])
        agree = agree and all(record.agree is not False for record in records)
        if out is not None and (
            wrong := results.busy(results.runs(out / f"{name}.json")[0]["machine"])
        ):
            echo(f"{name}: others were at work ({wrong}): measure it again", err=True)
    if not agree:
        raise click.exceptions.Exit(1)
