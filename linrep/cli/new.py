"""linrep new: files to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from linrep._lib.papers import papers
from linrep.cli.group import BadInput, main
from linrep.cli.output import check_output, write_file
from linrep.cli.text import echo, say_count

#: The smallest file of claims, the first one of docs/claims.md.
CLAIM = """\
from linrep.claims import Cases, statement


@statement(
    "mine.means",
    plain="A geometric mean is at most the arithmetic one.",
    negative_control={"factor": 0.9},
)
def means(budget, rng, *, factor=1.0):
    pairs = rng.exponential(size=(budget(100, 10_000), 2))
    yield Cases([((a * b) ** 0.5, factor * (a + b) / 2, {"a": a, "b": b}) for a, b in pairs])
"""
#: The repository of a paper; names of files end in .txt, as they are no code of linrep.
PAPER = Path(__file__).parent / "templates" / "paper"


@main.command()
@click.argument("what", metavar="claim|paper")
@click.argument("name", metavar="[FILE.py|NAME]", required=False)
@click.option("--title", help="Title of the paper.  [default: NAME]")
def new(what, name, title):
    """Write a file to begin with: new claim, new paper NAME.

    A claim is a statement together with a check that can refute it. linrep new claim [FILE.py]
    writes a file with a small one, by default my_claims.py. linrep new paper NAME writes the folder
    linrep-NAME: a Python package with three claims, whose ids begin with NAME, and their tests.
    Once it is installed, all commands treat the paper like linrep's own.
    """
    if what not in ("claim", "paper"):
        there = "linrep new claim, linrep new paper NAME"
        raise BadInput(f"unknown kind of file {what!r}; there are {there}")
    if what == "claim":
        if title is not None:
            raise BadInput("--title is for a paper")
        _claim(Path(name or "my_claims.py"))
    elif name is None:
        raise BadInput("NAME of the paper is missing: linrep new paper NAME")
    else:
        _paper(name, title or name)


def _claim(file):
    if file.suffix != ".py":
        raise BadInput(f"FILE must end in .py, got {file}")
    if file.exists():
        raise BadInput(f"{file} exists already, and is not overwritten")
    check_output("FILE", file)
    write_file(file, CLAIM.encode())
    echo(f"{file}: check it with: linrep verify {file}")


def _paper(name, title):
    if not (name.isascii() and name.isidentifier() and name.islower()):
        raise BadInput(
            f"NAME, with which ids begin, must consist of small letters, digits and _: {name!r}"
        )
    if name in papers():
        raise BadInput(f"NAME: there is a paper {name} already, {papers()[name].module}")
    if set(title) & set('"\\\n'):
        raise BadInput("--title must have no quotes, backslashes or line breaks")
    folder = Path(f"linrep-{name}")
    if folder.exists():
        raise BadInput(f"{folder} exists already, and is not overwritten")
    words = {"name": name, "title": title, "distribution": folder.name, "package": f"linrep_{name}"}
    count = _fill(folder, words)
    echo(f"{folder}: {say_count(count, 'file')}; install it and check it with:")
    echo(f"  cd {folder}")
    echo('  pip install -e ".[test]"')
    echo(f"  linrep verify '{name}.*' --budget standard --record --figures pictures")


def _fill(out, words):
    """Write the repository, and return how many files it has."""
    templates = sorted(path for path in PAPER.rglob("*") if path.is_file())
    for template in templates:
        text = template.read_text("utf-8")
        for key, word in words.items():
            text = text.replace(f"{{{{{key}}}}}", word)
        place = template.relative_to(PAPER).with_suffix("").as_posix()
        place = place.replace("dot_", ".").replace("src/package", f"src/{words['package']}")
        path = out / place
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode())
    return len(templates)
